package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// networkProxy is the proxy of a network whose servers are a world's.
type networkProxy struct {
	url   string
	mu    sync.Mutex
	asked []string // authorization and address of each CONNECT
}

func newNetworkProxy(t *testing.T, world *egressworld.World) *networkProxy {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &networkProxy{url: "http://" + listener.Addr().String()}
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(t.Context(), world, conn) })
		}
	})
	return p
}

func (p *networkProxy) serve(ctx context.Context, world *egressworld.World, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, request.Header.Get("Proxy-Authorization")+" "+request.Host)
	p.mu.Unlock()
	at, err := netip.ParseAddrPort(request.Host)
	if err != nil {
		return
	}
	server, err := world.Connect(ctx, at)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(server, reader); _ = server.Close() }()
	_, _ = io.Copy(conn, server)
}

func TestSandboxesReachServersThroughTheNetworksProxyByJudgedAddress(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com")
	proxy := newNetworkProxy(t, world)
	c := testConfig(t)
	c.Egress = EgressConfig{Resolver: world, RootsPEM: world.RootPEM(), Upstream: &EgressUpstream{
		URL: proxy.url, Authorization: func(context.Context) (string, error) { return "Basic let-me-out", nil },
	}}
	b := startWith(t, newEngine(t, c), "a", sandbox.Egress{Rules: map[string]sandbox.EgressRule{"plain": rule("api.example.com", "80", "*", "*")}})
	if got := b.prints("curl -sS --max-time 20 http://api.example.com/y"); got != "GET api.example.com/y" {
		t.Errorf("%q", got)
	}
	if out := b.prints("curl -sS --max-time 20 -w '%{http_code}' http://neighbour.example.com/"); !strings.HasSuffix(out, "403") {
		t.Errorf("the neighbour: %q", out)
	}
	if out := b.prints("curl -sS --max-time 20 -w '%{http_code}' " + proxy.url + "/"); !strings.HasSuffix(out, "403") {
		t.Errorf("the proxy itself: %q", out)
	}
	proxy.mu.Lock()
	defer proxy.mu.Unlock()
	if len(proxy.asked) != 1 || !strings.HasPrefix(proxy.asked[0], "Basic let-me-out 11.") {
		t.Errorf("the network's proxy was asked for %q", proxy.asked)
	}
}

func TestAnUpstreamThatIsNoneIsRefusedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for url, fine := range map[string]bool{
		"http://proxy.example.com:3128":           true,
		"https://proxy.example.com:3129":          true,
		"http://who:hunter2@proxy.example.com:80": false,
		"socks5://proxy.example.com:1080":         false,
		"http://proxy.example.com":                false,
		"":                                        false,
	} {
		_, err := newOutlets(Config{Egress: EgressConfig{Upstream: &EgressUpstream{URL: url}}}, t.TempDir())
		if fine != (err == nil) || !fine && !errors.Is(err, sandbox.CodeOptionsInvalid) {
			t.Errorf("%s: %v", url, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
	both := EgressConfig{Upstream: &EgressUpstream{URL: "http://proxy.example.com:3128"}, Connect: (&egressworld.World{}).Connect}
	if _, err := newOutlets(Config{Egress: both}, t.TempDir()); !errors.Is(err, sandbox.CodeOptionsInvalid) {
		t.Error(err)
	}
}
