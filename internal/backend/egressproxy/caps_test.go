package egressproxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func TestHandshakesThatStopHalfwayAreGivenUpAndHoldNobodyElseUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	pool, err := NewPool(PoolLimits{Handshakes: 1})
	must(t, err)
	share := func(l Limits) func(*Config) { return func(c *Config) { c.Pool, c.Limits = pool, l } }
	rules := map[string]sandbox.EgressRule{"api": rule(goodHost, "443", "GET", "*")}
	a := newScene(t, w, setting{rules: rules, config: share(Limits{Handshakes: 2, HandshakeTimeout: 300 * time.Millisecond})})
	b := newScene(t, w, setting{rules: rules, config: share(Limits{})})
	hello := helloBytes(t, goodHost)
	var stuck []net.Conn
	for range 6 { // far more than A's own and the pool's
		conn, _, err := a.tunnel(goodHost + ":443")
		must(t, err)
		defer conn.Close()
		_, err = conn.Write(hello)
		must(t, err)
		stuck = append(stuck, conn)
	}
	must(t, b.tlsAllowed(goodHost+":443", goodHost, true))
	for _, conn := range stuck {
		must(t, closedByPeer(conn))
	}
	must(t, a.events.code(sandbox.CodeEgressOpeningRefused))
	must(t, a.tlsAllowed(goodHost+":443", goodHost, true))

	for range 2 { // as many as A may have, which do not end
		room, err := a.proxy.gates.handshakes.enter(context.Background())
		must(t, err)
		defer room.leave()
	}
	must(t, a.tlsRefused(goodHost+":443", goodHost, true, sandbox.CodeEgressProxyLimit))
	must(t, b.tlsAllowed(goodHost+":443", goodHost, true))
}

func TestAGuestThatTakesNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr := w.Address()
	w.Name(goodHost, addr)
	must(t, w.Serve(netip.AddrPortFrom(addr, 443), pouring))
	gaveUp := make(chan struct{})
	must(t, w.HTTP(netip.AddrPortFrom(addr, 80), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for buf := make([]byte, 64<<10); ; {
			if _, err := w.Write(buf); err != nil {
				close(gaveUp)
				return
			}
		}
	})))
	s := newScene(t, w, setting{
		rules:  map[string]sandbox.EgressRule{"api": rule(goodHost, "80 443", "*", "*")},
		config: limited(Limits{IdleTimeout: 200 * time.Millisecond}),
	})
	tunnel, _, err := s.tunnel(goodHost + ":443")
	must(t, err)
	defer tunnel.Close()
	_, err = tunnel.Write(helloBytes(t, goodHost))
	must(t, err)
	must(t, s.events.await(isEnd))
	plain, err := s.dial()
	must(t, err)
	defer plain.Close()
	_, err = io.WriteString(plain, absolute(goodHost, "/"))
	must(t, err)
	<-gaveUp // the server is let go
}

// TestTheHostsAddressesAreReadForEachDial gives the host an address while the proxy
// runs.
func TestTheHostsAddressesAreReadForEachDial(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost) // at 11.0.0.1
	var own atomic.Pointer[[]netip.Addr]
	own.Store(&[]netip.Addr{})
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "80 443", "*", "*")}, config: func(c *Config) {
		c.HostAddresses = func() ([]netip.Addr, error) { return *own.Load(), nil }
	}})
	must(t, s.tlsAllowed(goodHost+":443", goodHost, false))
	own.Store(&[]netip.Addr{netip.MustParseAddr("11.0.0.1")})
	must(t, s.tunnelRefused(goodHost+":443", sandbox.CodeEgressAddressRefused))
	must(t, s.rawRefused(absolute(goodHost, "/"), sandbox.CodeEgressAddressRefused))
}

// TestServersAreVerifiedByTheSystemAndNeverByTheGuest gives a server the
// certificate of the sandbox's own authority, which the guest trusts.
func TestServersAreVerifiedByTheSystemAndNeverByTheGuest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, "known.example.com")
	addr := w.Address()
	w.Name(goodHost, addr)
	rules := map[string]sandbox.EgressRule{"api": rule(goodHost, "443", "GET", "*"), "known": rule("known.example.com", "443", "GET", "*")}
	s := newScene(t, w, setting{rules: rules})
	cert, err := s.proxy.authority.Certificate(goodHost, netip.Addr{}, time.Now())
	must(t, err)
	must(t, w.HTTPS(netip.AddrPortFrom(addr, 443), &echo{}, func(c *tls.Config) { c.Certificates = []tls.Certificate{*cert} }, goodHost))
	client := s.client(t, true)
	r, err := get(client, "https://"+goodHost+"/")
	must(t, refused("a server with the guest's authority", r, err, sandbox.CodeEgressUpstreamFailed))
	r, err = get(client, "https://known.example.com/")
	must(t, allowed("a server that is vouched for", r, err))
	if _, err := x509.SystemCertPool(); err != nil {
		t.Skipf("this machine has no roots of its own: %v", err)
	}
	system := newScene(t, w, setting{rules: rules, config: func(c *Config) { c.RootCAs = nil }})
	r, err = get(system.client(t, true), "https://known.example.com/")
	must(t, refused("a server that the system does not know", r, err, sandbox.CodeEgressUpstreamFailed))
}

// scarce is a listener on a machine that runs out of descriptors now and then.
type scarce struct {
	net.Listener
	left atomic.Int32
}

func (s *scarce) Accept() (net.Conn, error) {
	if s.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "unix", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return s.Listener.Accept()
}

func TestServingGoesOnWhenDescriptorsWereOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	s := newScene(t, w, setting{rules: plainRules()})
	socket, err := Listen(shortDir(t))
	must(t, err)
	listener := &scarce{Listener: socket}
	listener.left.Store(3)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.proxy.Serve(ctx, listener) }()
	conn, err := net.Dial("unix", socket.Path())
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, absolute(goodHost, "/"))
	must(t, err)
	r, err := readReply(bufio.NewReader(conn), http.MethodGet)
	must(t, allowed("a request once there are some", r, err))
	must(t, s.events.await(func(e egress.Event) bool { return e.Allowed }))
	cancel()
	must(t, <-served)
}
