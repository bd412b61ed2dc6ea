package egressproxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func limited(l Limits) func(*Config) { return func(c *Config) { c.Limits = l } }

func TestAHeadThatTakesTooLongOrIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	slow := newScene(t, w, setting{rules: plainRules(), config: limited(Limits{HeaderTimeout: 50 * time.Millisecond})})
	conn, err := slow.dial()
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET http://")
	must(t, err)
	r, err := readReply(bufio.NewReader(conn), "GET")
	if err := refused("a slow head", r, err, sandbox.CodeEgressProxyLimit); err != nil || r.status != http.StatusRequestTimeout {
		t.Error(r.status, err)
	}
	must(t, slow.rawAllowed(absolute(goodHost, "/")))

	const most = 4096
	small := newScene(t, w, setting{rules: plainRules(), config: limited(Limits{HeaderBytes: most})})
	fits := absolute(goodHost, "/", "X-A: "+strings.Repeat("a", most-len(absolute(goodHost, "/", "X-A: "))))
	must(t, small.rawAllowed(fits))
	r, _, err = small.raw(strings.Replace(fits, "X-A: ", "X-A: a", 1))
	if err := refused("a large head", r, err, sandbox.CodeEgressProxyLimit); err != nil || r.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Error(r.status, err)
	}
	lines := make([]string, 300)
	for i := range lines {
		lines[i] = "a: b"
	}
	must(t, small.rawRefused(absolute(goodHost, "/", lines...), sandbox.CodeEgressRequestMalformed))
	must(t, small.rawAllowed(absolute(goodHost, "/", lines[:255]...)))
}

func TestABodyIsHeldToItsLimitAndStreamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	arrived := make(chan string)
	_, err := w.Site("stream.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 5)
		for {
			n, err := io.ReadFull(r.Body, buf)
			if err != nil {
				return
			}
			arrived <- string(buf[:n])
		}
	}))
	must(t, err)
	s := newScene(t, w, setting{config: limited(Limits{RequestBytes: 1000}), rules: map[string]sandbox.EgressRule{
		"api": rule(goodHost, "80", "*", "*"), "stream": rule("stream.example.com", "80", "*", "*"), "h2": rule(goodHost, "443", "POST", "*"),
	}})
	chunk := func(n int) string { return fmt.Sprintf("%x\r\n%s\r\n", n, strings.Repeat("a", n)) }
	start := head(first, toGood, "Transfer-Encoding: chunked")
	must(t, s.rawAllowed(start+chunk(500)+chunk(500)+"0\r\n\r\n"))
	must(t, s.rawRefused(start+chunk(500)+chunk(500)+chunk(1)+"0\r\n\r\n", sandbox.CodeEgressProxyLimit))
	must(t, s.rawRefused(start+strings.Repeat(chunk(1000), 100), sandbox.CodeEgressProxyLimit))
	must(t, s.rawRefused(head(first, toGood, "Content-Length: 1001"), sandbox.CodeEgressProxyLimit))
	must(t, s.rawRefused(start+"zz\r\n", sandbox.CodeEgressRequestMalformed))
	client := s.client(t, true)
	r, err := do(client, "POST", "https://"+goodHost+"/", strings.Repeat("a", 1000))
	must(t, allowed("a body over HTTP/2", r, err))
	r, err = do(client, "POST", "https://"+goodHost+"/", strings.Repeat("a", 1001))
	must(t, refused("a longer one", r, err, sandbox.CodeEgressProxyLimit))

	conn, err := s.dial()
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, strings.ReplaceAll(start, goodHost, "stream.example.com"))
	must(t, err)
	for _, part := range []string{"first", "again", "third"} {
		_, err := fmt.Fprintf(conn, "5\r\n%s\r\n", part)
		must(t, err)
		if got := <-arrived; got != part { // before the next part was sent
			t.Errorf("got %q", got)
		}
	}
}

func TestAResponseIsStreamedPieceByPiece(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	next := make(chan string)
	_, err := w.Site(goodHost, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		control.Flush() //nolint:errcheck // the reader tells
		for range 2 {
			io.WriteString(w, <-next) //nolint:errcheck // the reader tells
			control.Flush()           //nolint:errcheck // the reader tells
		}
	}))
	must(t, err)
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"plain": rule(goodHost, "80", "*", "*"), "opened": rule(goodHost, "443", "GET", "*")}})
	for _, address := range []string{"http://" + goodHost + "/", "https://" + goodHost + "/"} {
		resp, err := s.client(t, true).Get(address)
		must(t, err)
		for _, piece := range []string{"first", "again"} {
			next <- piece
			buf := make([]byte, len(piece))
			if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != piece {
				t.Errorf("%s: %q, %v", address, buf, err)
			}
		}
		resp.Body.Close()
	}
}

func TestAServerThatSaysNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	addr := w.Address()
	w.Name("silent.example.com", addr)
	must(t, w.Serve(netip.AddrPortFrom(addr, 80), func(conn net.Conn) { io.Copy(io.Discard, conn) })) //nolint:errcheck // it only listens
	s := newScene(t, w, setting{config: limited(Limits{IdleTimeout: time.Second}), rules: map[string]sandbox.EgressRule{
		"api": rule(goodHost, "80", "*", "*"), "silent": rule("silent.example.com", "80", "*", "*"),
	}})
	r, _, err := s.raw(absolute("silent.example.com", "/"))
	if err := refused("a silent server", r, err, sandbox.CodeEgressProxyLimit); err != nil || r.status != http.StatusGatewayTimeout {
		t.Error(r.status, err)
	}
	must(t, s.rawAllowed(absolute(goodHost, "/")))
}

func TestAServerThatBreaksOffIsNotPassedOffAsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr := w.Address()
	w.Name(goodHost, addr)
	must(t, w.Serve(netip.AddrPortFrom(addr, 80), func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf") //nolint:errcheck // the reader tells
		}
	}))
	s := newScene(t, w, setting{rules: plainRules()})
	_, _, err := s.raw(absolute(goodHost, "/"))
	if err == nil {
		t.Error("half a response passed for a whole one")
	}
}

func TestAGuestThatWaitsForLeaveGetsItOnlyWhereItMayGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	s := newScene(t, w, setting{rules: plainRules()})
	conn, err := s.dial()
	must(t, err)
	defer conn.Close()
	br := bufio.NewReader(conn)
	_, err = io.WriteString(conn, head(first, toGood, "Content-Length: 2", "Expect: 100-continue"))
	must(t, err)
	line, err := br.ReadString('\n')
	if err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_, err = br.ReadString('\n')
	must(t, err)
	_, err = io.WriteString(conn, "ab"+absolute(goodHost, "/next"))
	must(t, err)
	for range 2 {
		r, err := readReply(br, "POST")
		must(t, allowed("a request that had leave", r, err))
	}
	must(t, s.rawRefused(head("POST http://"+evilHost+"/ HTTP/1.1", "Host: "+evilHost, "Content-Length: 2", "Expect: 100-continue"), sandbox.CodeEgressDenied))
}

func TestATunnelThatIsHalfClosedStillAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr := w.Address()
	w.Name(goodHost, addr)
	heard := make(chan int64, 1)
	must(t, w.Serve(netip.AddrPortFrom(addr, 443), func(conn net.Conn) {
		n, _ := io.Copy(io.Discard, conn) // to the guest's end
		heard <- n
		io.WriteString(conn, "goodbye") //nolint:errcheck // the reader tells
	}))
	s := newScene(t, w, setting{rules: plainRules()})
	conn, _, err := s.tunnel(goodHost + ":443")
	must(t, err)
	defer conn.Close()
	hello := helloBytes(t, goodHost)
	_, err = conn.Write(append(hello, "and more"...))
	must(t, err)
	must(t, closeWrite(conn))
	got, err := io.ReadAll(conn)
	if n := <-heard; err != nil || string(got) != "goodbye" || n != int64(len(hello)+len("and more")) {
		t.Errorf("the server heard %d bytes, the guest %q, %v", n, got, err)
	}
}

func TestAQuietTunnelEndsAndABusyOneDoesNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock is its own
		const idle = 300 * time.Second
		guest, inward := net.Pipe()
		server, outward := net.Pipe()
		defer guest.Close()
		defer server.Close()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			new(Proxy).relay(inward, outward, idle)
		}()
		for range 30 { // ten times as long as it may be quiet, one way alone
			<-time.After(idle / 3)
			_, err := guest.Write([]byte("x"))
			must(t, err)
			_, err = io.ReadFull(server, make([]byte, 1))
			must(t, err)
		}
		last := time.Now()
		<-ended
		if quiet := time.Since(last); quiet < idle || quiet > 2*idle {
			t.Errorf("the tunnel ended after %v without a byte, where it may be quiet for %v", quiet, idle)
		}
		must(t, closedByPeer(guest))
		must(t, closedByPeer(server))
	})
}

func TestOneSandboxAtItsLimitsShutsNobodyElseOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	pool, err := NewPool(PoolLimits{Connections: 2, Requests: 1, Handshakes: 1, Lookups: 1, Dials: 1})
	must(t, err)
	stuck := make(chan struct{})
	defer close(stuck)
	asked := make(chan struct{}, 64)
	rules := plainRules()
	rules["stuck"] = rule("*.stuck.example.com", "80", "*", "*")
	resolver := lookup(func(ctx context.Context, network, rooted string) ([]netip.Addr, error) {
		if !strings.Contains(rooted, "stuck") {
			return w.LookupNetIP(ctx, network, rooted)
		}
		asked <- struct{}{}
		select {
		case <-stuck:
		case <-ctx.Done():
		}
		return nil, context.Canceled
	})
	share := func(c *Config) {
		c.Pool, c.Resolver, c.Limits = pool, resolver, Limits{Connections: 8, Lookups: 2, Dials: 8}
	}
	a := newScene(t, w, setting{rules: rules, config: share})
	b := newScene(t, w, setting{rules: rules, config: share})
	for i := range 40 { // far more than all limits: A's own, and the pool's
		conn, err := a.dial()
		must(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, absolute(fmt.Sprintf("n%d.stuck.example.com", i), "/"))
		must(t, err)
	}
	<-asked
	<-asked // its own share, and what the pool has
	for range 10 {
		must(t, b.rawAllowed(absolute(goodHost, "/")))
	}
	must(t, b.tlsAllowed(goodHost+":443", goodHost, false))
}

func TestAFullGuestWaitsForItsOwnConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	s := newScene(t, w, setting{rules: plainRules(), config: limited(Limits{Connections: 1})})
	first, err := s.dial()
	must(t, err)
	_, err = io.WriteString(first, absolute(goodHost, "/"))
	must(t, err)
	r, err := readReply(bufio.NewReader(first), "GET")
	must(t, allowed("the first connection", r, err))
	second, err := s.dial()
	must(t, err)
	defer second.Close()
	_, err = io.WriteString(second, absolute(goodHost, "/"))
	must(t, err)
	must(t, first.Close()) // which lets the second in
	r, err = readReply(bufio.NewReader(second), "GET")
	must(t, allowed("the second connection", r, err))
}

func TestLimitsThatAreNegativeAreRefused(t *testing.T) {
	t.Parallel()
	w, err := egressworld.New()
	must(t, err)
	defer w.Close()
	for name, c := range map[string]Config{
		"connections": {Limits: Limits{Connections: -1}},
		"body":        {Limits: Limits{RequestBytes: -1}},
		"time":        {Limits: Limits{IdleTimeout: -1}},
		"lifetime":    {Lifetime: -1},
	} {
		c.Resolver = w
		if _, err := New(c); err == nil {
			t.Errorf("%s: a negative limit is taken", name)
		}
	}
	if _, err := NewPool(PoolLimits{Dials: -1}); err == nil {
		t.Error("a negative limit of a pool is taken")
	}
}
