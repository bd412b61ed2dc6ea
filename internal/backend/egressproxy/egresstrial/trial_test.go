package egresstrial

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var proxyAt = netip.AddrPortFrom(loopback, 3128)

// box is a guest as a sandbox has it: a proxy, a loopback address and nothing else.
type box struct {
	socket string
	routes map[string]bool // ways out that it has all the same, as "tcp 11.0.0.1:443"
	broken error           // what it answers to everything
}

func (b *box) Dial(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	switch {
	case b.broken != nil:
		return nil, b.broken
	case to == proxyAt && network == "tcp":
		return d.DialContext(ctx, "unix", b.socket)
	case to.Addr().IsLoopback(), b.routes[network+" "+to.String()]:
		here, there := net.Pipe()
		return here, there.Close()
	}
	return nil, ErrNotConnected
}

// try runs a trial of a proxy and a guest, which a change may spoil.
func try(t *testing.T, spoil func(*Trial, *sandbox.Egress, *box)) []Wall {
	t.Helper()
	trial, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trial.Close)
	spec, b := trial.Egress(), &box{routes: map[string]bool{}}
	if spoil != nil {
		spoil(trial, &spec, b)
	}
	trust := trial.RootsPEM()
	if b.socket == "" {
		var authority []byte
		b.socket, authority = proxyOf(t, trial, spec)
		trust = append(trust, authority...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return trial.Run(ctx, b, proxyAt, trust)
}

// proxyOf is the real one.
func proxyOf(t *testing.T, trial *Trial, spec sandbox.Egress) (socket string, authority []byte) {
	t.Helper()
	var parsed []egress.Rule
	for _, host := range spec.Hosts {
		r, findings := egress.ParseShort(host, nil)
		if len(findings) > 0 {
			t.Fatal(findings)
		}
		parsed = append(parsed, r)
	}
	for name, rule := range spec.Rules {
		r, findings := egress.ParseRule(name, rule, nil)
		if len(findings) > 0 {
			t.Fatal(findings)
		}
		parsed = append(parsed, r)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trial.RootsPEM())
	proxy, err := egressproxy.New(egressproxy.Config{
		Rules: egress.NewSet(parsed), Resolver: trial, Connect: trial.Connect, RootCAs: roots,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := egressproxy.Listen(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// The client's side of a Unix socket takes a short path, and a test's is long.
	short := shortPath(t, l.Path())
	served := make(chan error, 1)
	go func() { served <- proxy.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		if err := errors.Join(proxy.Close(context.Background()), <-served, l.Close()); err != nil {
			t.Error(err)
		}
	})
	return short, proxy.CAPEM()
}

// fallen are the names of the walls that did not hold.
func fallen(walls []Wall) string {
	var names []string
	for _, w := range walls {
		if !w.Held {
			names = append(names, w.Name)
		}
	}
	return strings.Join(names, ", ")
}

func TestEveryWallOfTheRealProxyHolds(t *testing.T) {
	t.Parallel()
	walls := try(t, nil)
	for _, w := range walls {
		if !w.Held || w.Shown == "" {
			t.Errorf("%s: %s", w.Name, w.Shown)
		}
	}
	if !Enforced(walls) {
		t.Error("it is not enforced")
	}
	for _, g := range sandbox.Guarantees() {
		if shown, held := Proof(walls, g); !held || len(shown) == 0 {
			t.Errorf("%v is not proved: %q", g, shown)
		}
	}
}

// Each is one hole, and what has to fall because of it.
func TestAHoleInAWallIsSeen(t *testing.T) {
	t.Parallel()
	star := []string{"*"}
	route := func(to string) func(*Trial, *sandbox.Egress, *box) {
		return func(_ *Trial, _ *sandbox.Egress, b *box) { b.routes[to] = true }
	}
	widen := func(name string, change func(*sandbox.EgressRule)) func(*Trial, *sandbox.Egress, *box) {
		return func(_ *Trial, e *sandbox.Egress, _ *box) {
			r := e.Rules[name]
			change(&r)
			e.Rules[name] = r
		}
	}
	for name, c := range map[string]struct {
		spoil func(*Trial, *sandbox.Egress, *box)
		falls string
	}{
		"a host more":          {func(_ *Trial, e *sandbox.Egress, _ *box) { e.Hosts = append(e.Hosts, shut) }, "other hosts"},
		"a name more":          {func(_ *Trial, e *sandbox.Egress, _ *box) { e.Hosts = append(e.Hosts, "other.example.com") }, "names"},
		"a route":              {route("tcp 11.0.0.1:443"), "without the proxy"},
		"a route in IPv6":      {route("tcp [2620::1]:443"), "without the proxy"},
		"a name server":        {route("udp 11.0.0.53:53"), "names"},
		"a name server by TCP": {route("tcp 11.0.0.53:53"), "names"},
		"a metadata service":   {route("tcp 169.254.169.254:80"), "metadata services"},
		"datagrams":            {route("udp 11.0.0.1:443"), "datagrams"},
		"datagrams in IPv6":    {route("udp [2620::1]:443"), "datagrams"},
		"every port":           {widen("port", func(r *sandbox.EgressRule) { r.Ports = star }), "ports"},
		"every method":         {widen("method", func(r *sandbox.EgressRule) { r.Methods = star }), "methods"},
		"every path":           {widen("path", func(r *sandbox.EgressRule) { r.Paths = star }), "paths"},
		"an address too many":  {widen("address", func(r *sandbox.EgressRule) { r.Host = "11.0.0.8/31" }), "addresses"},
		"the host, not the rest": {
			func(trial *Trial, _ *sandbox.Egress, b *box) { b.socket = sieve(t, trial, false) },
			"addresses, ports, server names, methods, paths, metadata services",
		},
		"a name looked up before it is judged": {
			func(trial *Trial, _ *sandbox.Egress, b *box) { b.socket = sieve(t, trial, true) },
			"other hosts, names, addresses, ports, server names, methods, paths, metadata services",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walls := try(t, c.spoil)
			if got := fallen(walls); got != c.falls {
				t.Errorf("fallen: %s; want %s", got, c.falls)
			}
			for _, w := range walls {
				if len(w.Proves) == 0 && !w.Held && Enforced(walls) {
					t.Errorf("it counts as enforced without %s", w.Name)
				}
				for _, g := range w.Proves {
					if _, held := Proof(walls, g); held && !w.Held {
						t.Errorf("%v counts as proved without %s", g, w.Name)
					}
				}
			}
		})
	}
}

// A wall that was not tried has not held.
func TestWhereNothingWorksNothingIsProved(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Trial, *sandbox.Egress, *box){
		"no proxy":             func(_ *Trial, _ *sandbox.Egress, b *box) { b.socket = "/nowhere" },
		"no program":           func(_ *Trial, _ *sandbox.Egress, b *box) { b.broken = errors.New("no such program") },
		"no network of no use": func(_ *Trial, _ *sandbox.Egress, b *box) { b.broken = ErrNotConnected },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walls := try(t, spoil)
			if Enforced(walls) {
				t.Error("it is enforced")
			}
			for _, g := range sandbox.Guarantees() {
				// Without a proxy there are no datagrams all the same.
				if _, held := Proof(walls, g); held && (name != "no proxy" || g != sandbox.GuaranteeUDPDenied) {
					t.Errorf("%v is proved", g)
				}
			}
		})
	}
	t.Run("a proxy that refuses everything", func(t *testing.T) {
		t.Parallel()
		walls := try(t, func(_ *Trial, e *sandbox.Egress, _ *box) { e.Hosts, e.Rules = nil, nil })
		for _, w := range walls {
			refuses := []string{"other hosts", "without the proxy", "names", "datagrams"}
			if w.Held != slices.Contains(refuses, w.Name) {
				t.Errorf("%s: %v, %s", w.Name, w.Held, w.Shown)
			}
		}
		if Enforced(walls) {
			t.Error("it is enforced")
		}
	})
	t.Run("a trial that ended early", func(t *testing.T) {
		t.Parallel()
		trial, err := New()
		if err != nil {
			t.Fatal(err)
		}
		defer trial.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		walls := trial.Run(ctx, ended{}, proxyAt, nil)
		if len(fallen(walls)) == 0 || Enforced(walls) || Enforced(nil) {
			t.Errorf("%+v", walls)
		}
	})
}

// ended is a guest whose caller has gone.
type ended struct{}

func (ended) Dial(ctx context.Context, _ string, _ netip.AddrPort) (net.Conn, error) {
	return nil, ctx.Err()
}
