package egressproxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// echoing serves a host whose tunnels get back what they send, and gives the
// server's ends of them.
func echoing(tb testing.TB, w *egressworld.World) <-chan net.Conn {
	tb.Helper()
	addr := w.Address()
	w.Name(goodHost, addr)
	conns := make(chan net.Conn, 64)
	must(tb, w.Serve(netip.AddrPortFrom(addr, 443), func(conn net.Conn) {
		conns <- conn
		io.Copy(conn, conn) //nolint:errcheck // an echo
	}))
	return conns
}

// echoed opens a tunnel, and sends and gets back a number of bytes.
func (s *scene) echoed(tb testing.TB, bytes int) net.Conn {
	tb.Helper()
	conn, _, err := s.tunnel(goodHost + ":443")
	must(tb, err)
	sent := append(helloBytes(tb, goodHost), make([]byte, bytes)...)[:bytes]
	go conn.Write(sent) //nolint:errcheck // what comes back tells
	_, err = io.ReadFull(conn, make([]byte, bytes))
	must(tb, err)
	return conn
}

func isEnd(e egress.Event) bool { return e.End != nil }

// ends are all ends so far, and how many decisions were told.
func (r *recorder) ends() (ends []egress.Event, decisions int) {
	for _, e := range r.all() {
		if decisions += e.Count; e.End != nil {
			ends = append(ends, e)
		}
	}
	return ends, decisions
}

func TestTheEndOfATunnelIsToldOnceAndIsNoDecision(t *testing.T) {
	t.Parallel()
	const carried = 1 << 20
	for name, c := range map[string]struct {
		limits    Limits
		decisions int // the cut is told as well
		cut       func(t *testing.T, s *scene, guest, server net.Conn)
	}{
		"by the guest": {Limits{}, 1, func(_ *testing.T, _ *scene, guest, _ net.Conn) { guest.Close() }},
		"by the server": {Limits{}, 1, func(t *testing.T, _ *scene, guest, server net.Conn) {
			t.Helper()
			server.Close()
			must(t, closedByPeer(guest)) // of which the proxy hears half, until the guest ends as well
			guest.Close()
		}},
		"by a reset": {Limits{}, 1, func(t *testing.T, _ *scene, _, server net.Conn) {
			t.Helper()
			tcp, ok := server.(*net.TCPConn)
			if !ok {
				t.Fatalf("a %T", server)
			}
			must(t, tcp.SetLinger(0))
			must(t, tcp.Close())
		}},
		"by both, one after the other": {Limits{}, 1, func(t *testing.T, _ *scene, guest, _ net.Conn) {
			t.Helper()
			must(t, closeWrite(guest))
			must(t, closedByPeer(guest))
		}},
		"by other rules":       {Limits{}, 2, func(_ *testing.T, s *scene, _, _ net.Conn) { s.proxy.Reload(nil) }},
		"by nothing happening": {Limits{IdleTimeout: 500 * time.Millisecond}, 1, func(*testing.T, *scene, net.Conn, net.Conn) {}},
		"by the proxy's": {Limits{}, 2, func(t *testing.T, s *scene, _, _ net.Conn) {
			t.Helper()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			must(t, s.proxy.Close(ctx))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			servers := echoing(t, w)
			now := &clock{now: time.Unix(1, 0)}
			s := newScene(t, w, setting{rules: plainRules(), config: func(config *Config) { config.Clock, config.Limits = now.Now, c.limits }})
			guest := s.echoed(t, carried)
			defer guest.Close()
			now.add(time.Minute)
			c.cut(t, s, guest, <-servers)
			must(t, s.events.await(isEnd))
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			must(t, s.proxy.Close(ctx)) // after which nothing more is told
			ends, decisions := s.events.ends()
			if len(ends) != 1 || decisions != c.decisions {
				t.Fatalf("%d ends and %d decisions, want %d: %+v", len(ends), decisions, c.decisions, s.events.all())
			}
			e, want := ends[0], egress.End{Sent: carried, Received: carried, Duration: time.Minute}
			if *e.End != want || !e.Allowed || e.Count != 0 || e.Rule != "api" || e.Layer != egress.LayerConnection || e.Host != goodHost || e.Port != 443 {
				t.Errorf("%+v %+v", e, *e.End)
			}
			if st := s.proxy.Stats(); st.Allowed != 1 || st.Dropped != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestATunnelThatWasRefusedHasNoEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	twoSites(t, w)
	s := newScene(t, w, setting{rules: plainRules()})
	must(t, s.tunnelRefused(evilHost+":443", sandbox.CodeEgressDenied))
	must(t, s.tlsRefused(goodHost+":443", evilHost, false, sandbox.CodeEgressSNIMismatch))
	if ends, _ := s.events.ends(); len(ends) > 0 {
		t.Errorf("%+v", ends)
	}
	must(t, s.tlsAllowed(goodHost+":443", goodHost, false))
	must(t, s.events.await(isEnd))
}

func TestAnOpenedTunnelEndsBesideItsRequests(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http/1.1", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			site(t, w, goodHost)
			s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "443", "GET", "*")}})
			client := s.client(t, true)
			transport, ok := client.Transport.(*http.Transport)
			if !ok {
				t.Fatalf("a %T", client.Transport)
			}
			transport.ForceAttemptHTTP2 = protocol == "h2"
			for range 3 {
				r, err := get(client, "https://"+goodHost+"/")
				must(t, allowed(protocol, r, err))
			}
			client.CloseIdleConnections()
			must(t, s.events.await(isEnd))
			ends, decisions := s.events.ends()
			if len(ends) != 1 || decisions != 3 {
				t.Fatalf("%d ends and %d decisions: %+v", len(ends), decisions, s.events.all())
			}
			e := ends[0]
			if e.Layer != egress.LayerOpened || e.Rule != "" || e.Host != goodHost || e.End.Sent == 0 || e.End.Received == 0 || e.End.Duration <= 0 {
				t.Errorf("%+v %+v", e, *e.End)
			}
		})
	}
}

func TestAnEndThatTheObserverWasTooSlowForIsCounted(t *testing.T) {
	t.Parallel()
	observer := blocked{make(chan struct{})}
	e := testEvents(t, observer, time.Now, Limits{Events: 1})
	t.Cleanup(func() { close(observer.until) }) // before the events are closed
	const told = 8
	for range told {
		e.end(destination{name: goodHost, port: 443}, passage{layer: egress.LayerConnection, rule: "api"})
	}
	if dropped := e.stats().Dropped; dropped < told-2 { // one is being told, one waits
		t.Errorf("%d were dropped", dropped)
	}
}
