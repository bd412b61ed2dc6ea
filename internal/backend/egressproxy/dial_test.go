package egressproxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// onMachine is a dialler with the machine's network and no seam at all.
func onMachine(t *testing.T) *dialler {
	t.Helper()
	limits, err := Limits{}.withDefaults()
	must(t, err)
	pool, err := NewPool(PoolLimits{})
	must(t, err)
	gates, checks := pool.gates(limits), allChecks()
	d := &dialler{own: interfaceAddresses, checks: &checks, limits: &limits, gates: &gates}
	d.connect = d.onNetwork
	return d
}

func TestTheAddressIsJudgedAgainAsItIsDialled(t *testing.T) {
	t.Parallel()
	d := onMachine(t)
	for _, c := range []struct {
		judged, dialled string
		ok              bool
	}{
		{"11.0.0.9:443", "11.0.0.9:443", true},
		{"10.0.0.9:443", "10.0.0.9:443", true},
		{"11.0.0.9:443", "11.0.0.8:443", false},
		{"11.0.0.9:443", "11.0.0.9:444", false},
		{"11.0.0.9:443", "127.0.0.1:443", false},
		{"127.0.0.1:443", "127.0.0.1:443", false},
		{"169.254.169.254:80", "169.254.169.254:80", false},
		{"[2606:4700::1]:443", "[2606:4700::1]:443", true},
		{"[::1]:443", "[::1]:443", false},
		{"11.0.0.9:443", "nonsense", false},
	} {
		if err := d.control(netip.MustParseAddrPort(c.judged), c.dialled); (err == nil) != c.ok {
			t.Errorf("%s dialled as %s: %v", c.judged, c.dialled, err)
		}
	}
}

func TestNothingOnTheMachineItselfIsDialled(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", ":0")
	must(t, err)
	defer listener.Close()
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()
	d := onMachine(t)
	own, err := interfaceAddresses()
	must(t, err)
	if len(own) == 0 {
		t.Fatal("a machine without addresses")
	}
	for _, addr := range own {
		conn, err := d.dial(context.Background(), destination{addr: addr, port: port})
		refused, ok := errors.AsType[*denial](err)
		if !ok || refused.code != sandbox.CodeEgressAddressRefused {
			t.Errorf("%s: %v", addr, err)
		}
		if conn != nil {
			conn.Close()
		}
		// Were the list of addresses empty, the judgement at the dial is left.
		if conn, err := d.onNetwork(context.Background(), netip.AddrPortFrom(addr, port)); err == nil {
			conn.Close()
			t.Errorf("%s was dialled", addr)
		}
	}
	d.own = func() ([]netip.Addr, error) { return nil, errors.New("not now") }
	if _, err := d.dial(context.Background(), destination{addr: netip.MustParseAddr("11.0.0.9"), port: port}); err == nil {
		t.Error("it dials without knowing the host's addresses")
	}
}

// TestTheEnvironmentNamesNoProxy is not parallel: it changes the environment.
func TestTheEnvironmentNamesNoProxy(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	t.Setenv("NO_PROXY", "")
	w := newWorld(t)
	site(t, w, goodHost)
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "80", "*", "*"), "opened": rule(goodHost, "443", "GET", "*")}})
	must(t, s.rawAllowed(absolute(goodHost, "/")))
	r, err := get(s.client(t, true), "https://"+goodHost+"/")
	must(t, allowed("a request in an opened tunnel", r, err))
}

func TestTheNextAddressIsTriedWhereOneDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr := w.Address()
	w.Name(goodHost, netip.MustParseAddr("2606:4700::1"), netip.MustParseAddr("11.9.9.9"), addr)
	must(t, w.HTTP(netip.AddrPortFrom(addr, 80), &echo{}))
	w.Name("gone.example.com", netip.MustParseAddr("11.9.9.9"))
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"all": rule("*.example.com", "80", "*", "*")}})
	must(t, s.rawAllowed(absolute(goodHost, "/")))
	must(t, s.rawRefused(absolute("gone.example.com", "/"), sandbox.CodeEgressUpstreamFailed))
	must(t, s.rawRefused(absolute("nowhere.example.com", "/"), sandbox.CodeEgressUnresolved))
}
