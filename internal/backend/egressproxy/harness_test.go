package egressproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/parts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(loadRoleEnv); role != "" { // one of the load's processes
		if err := serveLoad(role, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what has to happen.
const patience = 30 * time.Second

// Rules, as tests write them.
func rule(host, ports, methods, paths string) sandbox.EgressRule {
	return sandbox.EgressRule{Host: host, Ports: strings.Fields(ports), Methods: strings.Fields(methods), Paths: strings.Fields(paths)}
}

func ruleSet(tb testing.TB, rules map[string]sandbox.EgressRule) *egress.Set {
	tb.Helper()
	var parsed []egress.Rule
	for name, r := range rules {
		p, findings := egress.ParseRule(name, r, nil)
		if len(findings) > 0 {
			tb.Fatal(findings)
		}
		parsed = append(parsed, p)
	}
	slices.SortFunc(parsed, func(a, b egress.Rule) int { return strings.Compare(a.Name(), b.Name()) })
	return egress.NewSet(parsed)
}

// scene is a world, a proxy and its socket.
type scene struct {
	world  *egressworld.World
	proxy  *Proxy
	events *recorder
	path   string
	socket *Socket
	served <-chan error // what serving ended with, where a test breaks the socket
	// trusts is set where the proxy and its world are another process's.
	trusts func(opened bool) *x509.CertPool
}

// lookup is a resolver that is one function.
type lookup func(ctx context.Context, network, rooted string) ([]netip.Addr, error)

func (l lookup) LookupNetIP(ctx context.Context, network, rooted string) ([]netip.Addr, error) {
	return l(ctx, network, rooted)
}

// setting is what a scene is made of.
type setting struct {
	rules   map[string]sandbox.EgressRule
	config  func(*Config)
	altered func(*parts.Parts)
	broken  func(*Proxy)
	broke   bool // the test breaks the socket, and closes the proxy
}

func newWorld(tb testing.TB) *egressworld.World {
	tb.Helper()
	world, err := egressworld.New()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(world.Close)
	return world
}

func newScene(tb testing.TB, world *egressworld.World, s setting) *scene {
	tb.Helper()
	events := newRecorder()
	config := Config{
		Rules: ruleSet(tb, s.rules), Resolver: world, RootCAs: world.Roots(), Connect: world.Connect, Observer: events,
	}
	if s.config != nil {
		s.config(&config)
	}
	proxy, err := NewAltered(config, s.altered)
	if err != nil {
		tb.Fatal(err)
	}
	if s.broken != nil {
		s.broken(proxy)
	}
	socket, err := Listen(shortDir(tb))
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		err := proxy.Serve(context.Background(), socket)
		if errors.Is(err, ErrClosed) { // the test was over before it began
			err = nil
		}
		served <- err
	}()
	tb.Cleanup(func() {
		if s.broke {
			must(tb, socket.Close())
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(proxy.Close(ctx), <-served); err != nil {
			tb.Error(err)
		}
	})
	return &scene{world: world, proxy: proxy, events: events, path: socket.Path(), socket: socket, served: served}
}

// shortDir is a directory with a short path: t.TempDir has the name of the test in
// it, and the path of a socket has at most 107 bytes.
func shortDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "e") //nolint:usetesting // see above
	must(tb, err)
	tb.Cleanup(func() { must(tb, os.RemoveAll(dir)) })
	return dir
}

func (s *scene) dial() (net.Conn, error) {
	conn, err := net.Dial("unix", s.path)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(patience))
}

// reply is a response that was read whole.
type reply struct {
	status int
	header http.Header
	body   string
	ends   bool // the connection ends behind it
}

func (r reply) answer() answer {
	var a answer
	if json.Unmarshal([]byte(r.body), &a) != nil {
		return answer{}
	}
	return a
}

func readReply(br *bufio.Reader, method string) (reply, error) {
	resp, err := http.ReadResponse(br, &http.Request{Method: method})
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body), resp.Close}, err
}

// raw sends bytes and reads one response. The rest is what came behind it, if the
// proxy then closed.
func (s *scene) raw(text string) (r reply, rest string, err error) {
	conn, err := s.dial()
	if err != nil {
		return reply{}, "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		return reply{}, "", err
	}
	if err := closeWrite(conn); err != nil {
		return reply{}, "", err
	}
	br := bufio.NewReader(conn)
	if r, err = readReply(br, "GET"); err != nil {
		return reply{}, "", err
	}
	left, err := io.ReadAll(br)
	return r, string(left), err
}

// tunnel asks for a tunnel and gives what is inside it.
func (s *scene) tunnel(authority string) (net.Conn, reply, error) {
	conn, err := s.dial()
	if err != nil {
		return nil, reply{}, err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority); err != nil {
		conn.Close()
		return nil, reply{}, err
	}
	br := bufio.NewReader(conn)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil {
		conn.Close()
		return nil, reply{}, err
	}
	defer resp.Body.Close() // an empty one, where there is a tunnel
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		conn.Close()
		return nil, reply{resp.StatusCode, resp.Header, string(body), resp.Close}, err
	}
	return conn, reply{status: 200}, nil
}

// tls speaks TLS inside a tunnel.
func (s *scene) tls(authority, serverName string, opened bool, protocols ...string) (*tls.Conn, error) {
	conn, r, err := s.tunnel(authority)
	if err != nil {
		return nil, err
	}
	if conn == nil {
		return nil, fmt.Errorf("the tunnel is refused: %d %s", r.status, r.body)
	}
	config := &tls.Config{ServerName: serverName, RootCAs: s.roots(opened), NextProtos: protocols}
	inside := tls.Client(conn, config)
	if err := inside.Handshake(); err != nil {
		conn.Close()
		return nil, err
	}
	return inside, nil
}

// roots are the world's, or the sandbox's where opened is set.
func (s *scene) roots(opened bool) *x509.CertPool {
	switch {
	case s.trusts != nil:
		return s.trusts(opened)
	case opened:
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(s.proxy.CAPEM())
		return roots
	default:
		return s.world.Roots()
	}
}

// client is an HTTP client that goes through the proxy. Opened, it trusts the
// sandbox's authority and nobody else.
func (s *scene) client(tb testing.TB, opened bool) *http.Client {
	tb.Helper()
	client := s.plainClient()
	if opened {
		client = s.openedClient()
	}
	tb.Cleanup(client.CloseIdleConnections)
	return client
}

func (s *scene) plainClient() *http.Client { return s.clientWith(s.roots(false)) }

func (s *scene) openedClient() *http.Client { return s.clientWith(s.roots(true)) }

func (s *scene) clientWith(roots *x509.CertPool) *http.Client {
	return &http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return net.Dial("unix", s.path)
			},
			TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
		},
	}
}

// streams carries requests as streams of HTTP/2 inside one opened tunnel.
func (s *scene) streams(to destination) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	return &http.Transport{Protocols: protocols, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		return s.tls(to.String(), to.host(), true, "h2")
	}}
}

func get(client *http.Client, address string) (reply, error) {
	return do(client, http.MethodGet, address, "")
}

func do(client *http.Client, method, address, body string) (reply, error) {
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text), resp.Close}, err
}

// echo is a server that says what it was asked, and keeps it.
type echo struct {
	mu   sync.Mutex
	seen []string
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	line := fmt.Sprintf("%s %s %s %d", r.Method, r.Host, r.RequestURI, len(body))
	e.mu.Lock()
	e.seen = append(e.seen, line)
	e.mu.Unlock()
	fmt.Fprint(w, line)
}

func (e *echo) asked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.seen)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func site(tb testing.TB, w *egressworld.World, name string) *echo {
	tb.Helper()
	e := &echo{}
	_, err := w.Site(name, e)
	must(tb, err)
	return e
}

// closeWrite ends one direction of a connection.
func closeWrite(conn net.Conn) error {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return fmt.Errorf("a %T has no halves", conn)
	}
	return half.CloseWrite()
}

// closedByPeer waits until the other side has ended a connection.
func closedByPeer(conn net.Conn) error {
	var buf bytes.Buffer
	_, err := io.Copy(&buf, conn)
	if errors.Is(err, context.DeadlineExceeded) || err != nil && strings.Contains(err.Error(), "timeout") {
		return fmt.Errorf("the connection is still open: %w", err)
	}
	return nil
}

// helloBytes is a first message of TLS for a host, as a client sends it.
func helloBytes(tb testing.TB, host string) []byte {
	tb.Helper()
	near, far := net.Pipe()
	defer near.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tls.Client(far, &tls.Config{ServerName: host}).Handshake() //nolint:errcheck // nobody answers it
	}()
	hello, seen, err := clienthello.Read(near)
	must(tb, err)
	if hello.ServerName != host {
		tb.Fatalf("a hello for %q", hello.ServerName)
	}
	far.Close()
	<-done
	return seen
}
