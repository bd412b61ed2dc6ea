package egressproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// pairsEnv is how many pairs of rules and request are tried.
const pairsEnv = "EGRESS_PAIRS"

// pairsPerRules is how many requests each set of rules is asked.
const pairsPerRules = 100

// TestTheProxyDecidesAsTheCompiledPolicyDoes asks the plan's engine and a running
// proxy the same questions: about requests without TLS, tunnels, and requests
// inside opened ones. What a server then gets must be what was judged.
func TestTheProxyDecidesAsTheCompiledPolicyDoes(t *testing.T) {
	t.Parallel()
	pairs := 100_000
	if testing.Short() || raced {
		pairs = 5_000
	}
	if text := os.Getenv(pairsEnv); text != "" {
		n, err := strconv.Atoi(text)
		must(t, err)
		pairs = n
	}
	server := newAnswering(t)
	var tally tally
	var workers sync.WaitGroup
	const parallel = 4
	for worker := range parallel {
		workers.Go(func() {
			for set := worker; set*pairsPerRules < pairs && !t.Failed(); set += parallel {
				d := duel{t: t, random: rand.New(rand.NewPCG(uint64(set), 12)), server: server, tally: &tally}
				if err := d.run(); err != nil {
					t.Errorf("rules %d: %v", set, err)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d pairs: %d requests, %d tunnels, %d requests inside opened ones; %d allowed, %d refused",
		tally.allowed.Load()+tally.refused.Load(), tally.requests.Load(), tally.tunnels.Load(), tally.opened.Load(), tally.allowed.Load(), tally.refused.Load())
}

type tally struct{ requests, tunnels, opened, allowed, refused atomic.Int64 }

// answering is a server for every host, which says what it was asked.
type answering struct{ path string }

func newAnswering(t *testing.T) answering {
	t.Helper()
	a := answering{path: filepath.Join(shortDir(t), "s")}
	listener, err := net.Listen("unix", a.path)
	must(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Asked", r.Method+" "+r.Host+" "+r.RequestURI)
		w.WriteHeader(http.StatusNoContent)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener) //nolint:errcheck // it ends with the test
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return a
}

// LookupNetIP gives every name a public address.
func (a answering) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("11.0.0.9")}, nil
}

// duel is one set of rules in both engines.
type duel struct {
	t      *testing.T
	random *rand.Rand
	server answering
	tally  *tally

	spec  *policy.CompiledSpec
	set   *egress.Set
	proxy *Proxy
	path  string
	dials atomic.Int64
	plain struct {
		conn net.Conn
		br   *bufio.Reader
	}
	inside map[string]*http.Transport
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (d *duel) rules() map[string]sandbox.EgressRule {
	rules := map[string]sandbox.EgressRule{}
	for i := range 1 + d.random.IntN(6) {
		rules["r"+strconv.Itoa(i)] = sandbox.EgressRule{
			Host: pick(d.random, "a.example.com", "b.a.example.com", "*.example.com", "*.a.example.com", "example.com", "c.example.net", "*.net",
				"11.0.0.5", "11.0.0.4/30", "10.0.0.0/8", "0.0.0.0/0", "2606:4700::/32", "::/0"),
			Ports:   pick(d.random, []string{"443"}, []string{"80"}, []string{"80", "443"}, []string{"*"}, []string{"400-8080"}),
			Methods: pick(d.random, []string{"*"}, []string{"*"}, []string{"GET"}, []string{"GET", "POST"}, []string{"DELETE"}),
			Paths:   pick(d.random, []string{"*"}, []string{"*"}, []string{"/v1"}, []string{"/v1", "/a/b"}, []string{"/v1/x"}, []string{"/%C3%A9"}),
		}
	}
	return rules
}

func (d *duel) run() error {
	rules := d.rules()
	var findings []sandbox.Finding
	d.spec, findings = policy.CompileSpec(sandbox.Spec{Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: rules}}, sandbox.Known{})
	for _, f := range findings {
		if strings.HasPrefix(string(f.Code), "egress.") {
			return fmt.Errorf("the rules are not good: %+v", f)
		}
	}
	d.set = ruleSet(d.t, rules)
	var err error
	d.proxy, err = New(Config{
		Rules: d.set, Resolver: d.server, HostAddresses: func() ([]netip.Addr, error) { return nil, nil },
		Connect: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			d.dials.Add(1)
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", d.server.path)
		},
	})
	if err != nil {
		return err
	}
	// The servers' TLS is not what is compared, and would cost most of the time.
	d.proxy.transport.DialTLSContext = d.proxy.dialServer
	socket, err := Listen(filepath.Dir(d.server.path))
	if err != nil {
		return err
	}
	d.path = socket.Path()
	served := make(chan error, 1)
	go func() { served <- d.proxy.Serve(context.Background(), socket) }()
	d.inside = map[string]*http.Transport{}
	err = d.ask(rules)
	if d.plain.conn != nil {
		d.plain.conn.Close()
	}
	for _, streams := range d.inside {
		streams.CloseIdleConnections()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(err, d.proxy.Close(ctx), <-served)
}

// question is a random request. Every other one is made of a rule and is often
// admitted; what is left over to chance rarely is.
func (d *duel) question(rules map[string]sandbox.EgressRule) (host string, port int, method, path string) {
	host = pick(d.random, "a.example.com", "A.Example.com.", "b.a.example.com", "x.example.com", "example.com", "c.example.net", "other.org",
		"localhost", "11.0.0.5", "11.0.0.6", "10.1.2.3", "169.254.169.254", "127.0.0.1", "[2606:4700::1]", "[2001:4860::1]", "[fe80::1]")
	port = pick(d.random, 80, 80, 443, 443, 8080, 22)
	method = pick(d.random, "GET", "GET", "POST", "DELETE", "HEAD", "get")
	path = pick(d.random, "/", "/v1", "/v1/", "/v1/x", "/v10", "/v2", "/a/b/c", "/a/bc", "/a", "/v1/../v2", "/v1/%2e%2e/x", "/v1//x", "/v1/x;y",
		"/v1/%2Fx", "/v1/x%20y", "/%C3%A9/x", "/%c3%a9", "/v1/x|y", "/v1/{x}", "/v1/.x", "/%76%31", "/v1/%252e", "/v1\\x", "/v1#x")
	if d.random.IntN(2) == 0 {
		return host, port, method, path
	}
	rule := rules["r"+strconv.Itoa(d.random.IntN(len(rules)))]
	switch {
	case strings.HasPrefix(rule.Host, "*."):
		host = "x" + rule.Host[1:]
	case !strings.Contains(rule.Host, "/"):
		host = rule.Host
	case !strings.Contains(rule.Host, ":"):
		host = strings.Split(rule.Host, "/")[0]
	}
	port, _ = strconv.Atoi(strings.TrimPrefix(rule.Ports[0], "400-"))
	if port == 0 {
		port = 443
	}
	if m := rule.Methods[0]; m != "*" && d.random.IntN(4) > 0 {
		method = m
	}
	if p := rule.Paths[0]; p != "*" && d.random.IntN(4) > 0 {
		path = p + pick(d.random, "", "/x", "x", "/")
	}
	return host, port, method, path
}

// ask asks all requests of one set of rules.
func (d *duel) ask(rules map[string]sandbox.EgressRule) error {
	for range pairsPerRules {
		host, port, method, path := d.question(rules)
		to, ok := parseAuthority(fmt.Sprintf("%s:%d", host, port), 0)
		if !ok {
			return fmt.Errorf("%s is not a host", host)
		}
		authority := fmt.Sprintf("%s:%d", host, port)
		kind := d.random.IntN(20)
		var err error
		switch open := !d.admits(to, "", "") && d.set.Opens(to.connection()) && alwaysBlocked(to.connection()) == ""; {
		case open && kind < 10:
			err = d.opened(to, method, path)
		case kind < 13:
			err = d.request(authority, to, method, path)
		default:
			err = d.tunnel(authority, to)
		}
		if err != nil {
			return fmt.Errorf("%s, %s %s under %+v: %w", authority, method, path, rules, err)
		}
	}
	return nil
}

func (d *duel) admits(to destination, method, path string) bool {
	r := to.connection()
	r.Method, r.Path = method, path
	return d.spec.Admits(r) == sandbox.Allow
}

// compare holds the proxy's answer against the policy's, and what the server was
// asked against what was judged.
func (d *duel) compare(want bool, resp *http.Response, asked string) error {
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return err
	}
	got := resp.StatusCode == http.StatusNoContent
	if got != want || !got && resp.StatusCode != http.StatusForbidden {
		return fmt.Errorf("the policy says %v, the proxy %d %s", want, resp.StatusCode, body)
	}
	if !want {
		d.tally.refused.Add(1)
		return nil
	}
	d.tally.allowed.Add(1)
	if got := resp.Header.Get("X-Asked"); got != asked {
		return fmt.Errorf("the server was asked %q, want %q", got, asked)
	}
	return nil
}

func (d *duel) request(authority string, to destination, method, path string) error {
	d.tally.requests.Add(1)
	if d.plain.conn == nil {
		conn, err := net.Dial("unix", d.path)
		if err != nil {
			return err
		}
		d.plain.conn, d.plain.br = conn, bufio.NewReader(conn)
	}
	if _, err := fmt.Fprintf(d.plain.conn, "%s http://%s%s HTTP/1.1\r\nHost: %s\r\n\r\n", method, authority, path, authority); err != nil {
		return err
	}
	resp, err := http.ReadResponse(d.plain.br, &http.Request{Method: method})
	if err != nil {
		return err
	}
	if resp.Close {
		defer func() {
			d.plain.conn.Close()
			d.plain.conn = nil
		}()
	}
	return d.compare(d.admits(to, method, path), resp, method+" "+to.authority("http")+" "+escaped(path))
}

// tunnel tells by the dial whether a tunnel is passed through: an opened one
// reaches no server before it has a request.
func (d *duel) tunnel(authority string, to destination) error {
	d.tally.tunnels.Add(1)
	conn, err := net.Dial("unix", d.path)
	if err != nil {
		return err
	}
	defer conn.Close()
	before := d.dials.Load()
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	through := resp.StatusCode == http.StatusOK && d.dials.Load() > before
	if want := d.admits(to, "", ""); through != want {
		return fmt.Errorf("as a tunnel the policy says %v, the proxy %d and passed through %v", want, resp.StatusCode, through)
	}
	if through {
		d.tally.allowed.Add(1)
	} else {
		d.tally.refused.Add(1)
	}
	return nil
}

// opened asks inside a tunnel that has to be opened.
func (d *duel) opened(to destination, method, path string) error {
	d.tally.opened.Add(1)
	streams := d.inside[to.String()]
	if streams == nil {
		streams = (&scene{proxy: d.proxy, path: d.path}).streams(to)
		d.inside[to.String()] = streams
	}
	req, err := http.NewRequest(method, "https://"+to.authority("https")+"/", http.NoBody)
	if err != nil {
		return err
	}
	req.URL.Opaque = path
	if strings.HasPrefix(path, "//") {
		return fmt.Errorf("%s cannot be sent this way", path)
	}
	resp, err := streams.RoundTrip(req)
	if err != nil {
		return err
	}
	return d.compare(d.admits(to, method, path), resp, method+" "+to.authority("https")+" "+escaped(path))
}
