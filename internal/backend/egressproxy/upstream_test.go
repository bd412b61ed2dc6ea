package egressproxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// gateway is an upstream proxy into a world. It keeps what it was asked.
type gateway struct {
	world *egressworld.World
	at    netip.AddrPort
	// answer, where it is not nil, is all that the gateway says to a CONNECT.
	answer func(net.Conn)

	mu    sync.Mutex
	asked []string // "CONNECT 11.0.0.1:443 Basic c2VjcmV0"
}

// newGateway serves on loopback, where an upstream may be: it is the operator's word.
func newGateway(tb testing.TB, w *egressworld.World, inside *tls.Config, answer func(net.Conn)) *gateway {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(tb, err)
	g := &gateway{world: w, at: netip.MustParseAddrPort(listener.Addr().String()), answer: answer}
	if inside != nil {
		listener = tls.NewListener(listener, inside)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				g.serve(ctx, conn)
			})
		}
	})
	tb.Cleanup(func() {
		cancel()
		listener.Close()
		serving.Wait()
	})
	return g
}

func (g *gateway) serve(ctx context.Context, conn net.Conn) {
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	g.mu.Lock()
	g.asked = append(g.asked, strings.TrimSpace(request.Method+" "+request.Host+" "+request.Header.Get("Proxy-Authorization")))
	g.mu.Unlock()
	if g.answer != nil {
		g.answer(conn)
		return
	}
	to, err := netip.ParseAddrPort(request.Host)
	if err != nil {
		io.WriteString(conn, "HTTP/1.1 400 it is a name\r\n\r\n") //nolint:errcheck // the reader tells
		return
	}
	server, err := g.world.Connect(ctx, to)
	if err != nil {
		io.WriteString(conn, "HTTP/1.1 502 nobody is there\r\n\r\n") //nolint:errcheck // the reader tells
		return
	}
	defer server.Close()
	io.WriteString(conn, "HTTP/1.1 200 go on\r\nVia: 1.1 gateway\r\n\r\n") //nolint:errcheck // the reader tells
	var back sync.WaitGroup
	back.Go(func() {
		io.Copy(conn, server) //nolint:errcheck // it ends with either
		closeWrite(conn)      //nolint:errcheck // the other side is gone then
	})
	io.Copy(server, conn) //nolint:errcheck // it ends with either
	closeWrite(server)    //nolint:errcheck // the other side is gone then
	back.Wait()
}

func (g *gateway) all() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.asked)
}

// behind makes a proxy reach servers through the gateway.
func (g *gateway) behind(u Upstream) func(*Config) {
	if u.URL == "" {
		u.URL = "http://" + g.at.String()
	}
	return func(c *Config) { c.Connect, c.Upstream = nil, &u }
}

func basic(value string, err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return value, err }
}

func TestAnUpstreamIsAskedForJudgedAddressesAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Address() // 11.0.0.1
	site(t, w, goodHost)
	site(t, w, evilHost)
	w.Name("inner.example.com", netip.MustParseAddr("10.0.0.1"))
	g := newGateway(t, w, nil, nil)
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{
		"api": rule(goodHost, "80 8443", "*", "*"), "opened": rule(goodHost, "443", "GET", "*"), "inner": rule("inner.example.com", "80", "*", "*"),
		"through": rule("through.example.com", "443", "*", "*"),
	}, config: g.behind(Upstream{Authorization: basic("Basic c2VjcmV0", nil)})})
	site(t, w, "through.example.com")

	must(t, s.rawAllowed(absolute(goodHost, "/")))
	must(t, s.tlsAllowed("through.example.com:443", "through.example.com", false))
	client := s.client(t, true)
	r, err := get(client, "https://"+goodHost+"/")
	must(t, allowed("a request in an opened tunnel", r, err))
	want := []string{"CONNECT 11.0.0.2:80 Basic c2VjcmV0", "CONNECT 11.0.0.4:443 Basic c2VjcmV0", "CONNECT 11.0.0.2:443 Basic c2VjcmV0"}
	if got := g.all(); !slices.Equal(got, want) {
		t.Errorf("the upstream was asked %q, want %q", got, want)
	}

	must(t, s.rawRefused(absolute(evilHost, "/"), sandbox.CodeEgressDenied))
	must(t, s.rawRefused(absolute("inner.example.com", "/"), sandbox.CodeEgressAddressRefused))
	must(t, s.rawRefused(absolute("169.254.169.254", "/"), sandbox.CodeEgressAlwaysBlocked))
	must(t, s.tunnelRefused(goodHost+":8443", sandbox.CodeEgressUpstreamFailed)) // nobody is there
	if got := g.all()[len(want):]; !slices.Equal(got, []string{"CONNECT 11.0.0.2:8443 Basic c2VjcmV0"}) {
		t.Errorf("the upstream was asked %q", got)
	}
}

func TestAnUpstreamThatDoesNotConnectIsAnAnswerAndNoMore(t *testing.T) {
	t.Parallel()
	says := func(text string) func(net.Conn) {
		return func(conn net.Conn) { io.WriteString(conn, text) } //nolint:errcheck // the reader tells
	}
	silent := func(conn net.Conn) { io.Copy(io.Discard, conn) } //nolint:errcheck // it only listens
	pouring := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			for {
				if _, err := io.WriteString(conn, text); err != nil {
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		answer func(net.Conn)
		limits Limits
		found  string
	}{
		"refuses":              {answer: says("HTTP/1.1 403 not from here\r\nContent-Length: 3\r\n\r\nno!"), found: "answered 403"},
		"wants credentials":    {answer: says("HTTP/1.1 407 who are you\r\nProxy-Authenticate: Basic\r\n\r\n"), found: "answered 407"},
		"changes the protocol": {answer: says("HTTP/1.1 101 let us talk\r\nUpgrade: x\r\n\r\n"), found: "answered 101"},
		"is silent":            {answer: silent, limits: Limits{DialTimeout: 50 * time.Millisecond}, found: "did not answer in time"},
		"stops halfway": {answer: func(conn net.Conn) {
			io.WriteString(conn, "HTTP/1.1 200 go") //nolint:errcheck // the reader tells
			silent(conn)
		}, limits: Limits{DialTimeout: 50 * time.Millisecond}, found: "did not answer in time"},
		"ends":                   {answer: func(net.Conn) {}, found: "broke off"},
		"ends halfway":           {answer: says("HTTP/1.1 200 OK\r\nVia: "), found: "broke off"},
		"says garbage":           {answer: says("\x15\x03\x01\x00\x02\x02\x46\r\n\r\n"), found: "answered what is not HTTP"},
		"has headers of garbage": {answer: says("HTTP/1.1 200 OK\r\n nonsense\r\n\r\n"), found: "answered what is not HTTP"},
		"has a huge head":        {answer: pouring("X-More: " + strings.Repeat("x", 1000) + "\r\n"), found: "answered with a head that is too large"},
		"has an endless line":    {answer: pouring("HTTP/1.1 200 OK"), found: "answered with a head that is too large"},
		"speaks for the server":  {answer: says("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), found: "sent something before it was asked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			site(t, w, goodHost)
			g := newGateway(t, w, nil, c.answer)
			s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "80 443", "*", "*")}, config: func(config *Config) {
				g.behind(Upstream{Authorization: basic("Basic c2VjcmV0", nil)})(config)
				config.Limits = c.limits
			}})
			for _, request := range []string{absolute(goodHost, "/"), "CONNECT " + goodHost + ":443 HTTP/1.1\r\nHost: " + goodHost + ":443\r\n\r\n"} {
				r, _, err := s.raw(request)
				must(t, refused(request, r, err, sandbox.CodeEgressUpstreamFailed))
				if a := r.answer(); a.Found != "the upstream proxy "+c.found {
					t.Errorf("%s, want %s", r.body, c.found)
				}
			}
			must(t, s.events.code(sandbox.CodeEgressUpstreamFailed))
			for _, e := range s.events.all() {
				if text := fmt.Sprintf("%+v", e); strings.Contains(text, "c2VjcmV0") || strings.Contains(text, "not from here") {
					t.Errorf("an event says too much: %s", text)
				}
			}
			if len(g.all()) != 2 || len(w.Dials()) != 0 {
				t.Errorf("the upstream was asked %q, and %v was dialled", g.all(), w.Dials())
			}
		})
	}
}

func TestAnUpstreamThatIsNotThereOrWithoutCredentialsReachesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	g := newGateway(t, w, nil, nil)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	closed.Close()
	for name, c := range map[string]struct {
		upstream Upstream
		found    string
	}{
		"nobody is there":        {Upstream{URL: "http://" + closed.Addr().String()}, "the upstream proxy refused the connection"},
		"it has no address":      {Upstream{URL: "http://nowhere.invalid:3128"}, "the upstream proxy has no address that is known here"},
		"it speaks no TLS":       {Upstream{URL: "https://" + g.at.String()}, "the upstream proxy does not speak TLS with a certificate that the host machine trusts"},
		"there is no credential": {Upstream{Authorization: basic("", errors.New("the vault of c2VjcmV0 is shut"))}, "the upstream proxy needs credentials, and there are none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, w, setting{rules: plainRules(), config: g.behind(c.upstream)})
			r, _, err := s.raw(absolute(goodHost, "/"))
			must(t, refused(name, r, err, sandbox.CodeEgressUpstreamFailed))
			if a := r.answer(); a.Found != c.found {
				t.Error(r.body)
			}
		})
	}
	s := newScene(t, w, setting{rules: plainRules(), config: g.behind(Upstream{})})
	must(t, s.rawAllowed(absolute(goodHost, "/")))
}

func TestAnUpstreamWithTLSIsVerified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	cert, err := w.Certificate("127.0.0.1")
	must(t, err)
	g := newGateway(t, w, &tls.Config{Certificates: []tls.Certificate{*cert}}, nil)
	at := "https://" + g.at.String()
	known := newScene(t, w, setting{rules: plainRules(), config: g.behind(Upstream{URL: at, RootCAs: w.Roots()})})
	must(t, known.rawAllowed(absolute(goodHost, "/")))
	must(t, known.tlsAllowed(goodHost+":443", goodHost, false))
	stranger := newScene(t, w, setting{rules: plainRules(), config: g.behind(Upstream{URL: at})})
	must(t, stranger.rawRefused(absolute(goodHost, "/"), sandbox.CodeEgressUpstreamFailed))
}

func TestTheUpstreamItselfIsNothingToReach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := newGateway(t, w, nil, nil)
	const private, public = "10.0.0.9", "11.0.9.9"
	everywhere(t, w, "10.0.0.8", "10.0.0.9", public)
	w.Name(goodHost, netip.MustParseAddr(public))
	s := newScene(t, w, setting{
		rules:  map[string]sandbox.EgressRule{"inner": rule("10.0.0.0/8", "80 3128", "*", "*"), "api": rule(goodHost, "80", "*", "*")},
		config: g.behind(Upstream{}),
		broken: func(p *Proxy) { // it is elsewhere than on this machine
			p.dialler.upstream.addresses = func(context.Context) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("::ffff:" + private), netip.MustParseAddr(public)}, nil
			}
			p.dialler.upstream.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, g.at.String())
			}
		},
	})
	must(t, s.rawAllowed(absolute("10.0.0.8", "/")))
	for _, authority := range []string{private, private + ":3128", goodHost} {
		must(t, s.rawRefused(absolute(authority, "/"), sandbox.CodeEgressAddressRefused))
	}
	must(t, s.tunnelRefused(private+":3128", sandbox.CodeEgressAddressRefused))
	if got := g.all(); !slices.Equal(got, []string{"CONNECT 10.0.0.8:80"}) {
		t.Errorf("the upstream was asked %q", got)
	}
}

func TestAnUpstreamIsDialledWhereItWasLookedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := newGateway(t, w, nil, nil)
	everywhere(t, w, "10.0.0.8", "10.0.0.9")
	var looked atomic.Int32
	var dialled []string
	s := newScene(t, w, setting{
		rules:  map[string]sandbox.EgressRule{"inner": rule("10.0.0.0/8", "80", "*", "*")},
		config: g.behind(Upstream{}),
		broken: func(p *Proxy) {
			p.dialler.upstream.addresses = func(context.Context) ([]netip.Addr, error) {
				// Its name leads elsewhere each time.
				return []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(8 + looked.Add(1))})}, nil
			}
			p.dialler.upstream.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				dialled = append(dialled, address)
				return new(net.Dialer).DialContext(ctx, network, g.at.String())
			}
		},
	})
	must(t, s.rawRefused(absolute("10.0.0.9", "/"), sandbox.CodeEgressAddressRefused))
	must(t, s.rawAllowed(absolute("10.0.0.8", "/")))
	want := []string{netip.AddrPortFrom(netip.MustParseAddr("10.0.0.10"), g.at.Port()).String()}
	if !slices.Equal(dialled, want) || looked.Load() != 2 {
		t.Errorf("dialled %q, want %q, after %d look-ups for two requests", dialled, want, looked.Load())
	}
}

func TestATunnelThroughAnUpstreamEndsLikeAnyOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	echoing(t, w)
	g := newGateway(t, w, nil, nil)
	s := newScene(t, w, setting{rules: plainRules(), config: g.behind(Upstream{})})
	conn := s.echoed(t, 1<<20)
	defer conn.Close()
	if n := s.proxy.Reload(nil); n != 1 {
		t.Errorf("%d tunnels were ended", n)
	}
	must(t, closedByPeer(conn))
	must(t, s.events.await(func(e egress.Event) bool { return e.End != nil && e.End.Received == 1<<20 }))
}

func TestAnUpstreamIsASchemeAHostAndAPort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for text, good := range map[string]bool{
		"http://proxy.example.com:3128": true, "https://10.0.0.1:443": true, "http://[fd00::1]:3128": true,
		"": false, "proxy.example.com:3128": false, "http://proxy.example.com": false, "http://:3128": false, "http://proxy.example.com:0": false,
		"socks5://proxy.example.com:1080": false, "http://proxy.example.com:3128/": false, "http://proxy.example.com:3128?a": false,
		"http://user:c2VjcmV0@proxy.example.com:3128": false, "http://proxy.example.com:3128#c2VjcmV0": false, "http://c2VjcmV0\x00:1": false,
		"http://proxy.example.com:99999": false,
	} {
		_, err := newUpstream(Upstream{URL: text})
		if (err == nil) != good || err != nil && strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := New(Config{Resolver: w, Upstream: &Upstream{}}); err == nil {
		t.Error("an upstream without a URL is taken for none")
	}
	if _, err := New(Config{Resolver: w, Connect: w.Connect, Upstream: &Upstream{URL: "http://127.0.0.1:1"}}); err == nil {
		t.Error("an upstream stands beside another way to connect")
	}
}
