package egressproxy

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// plainRelay is what a tunnel is measured beside: the same two sockets with
// nothing but io.Copy between them.
func plainRelay(tb testing.TB, world *egressworld.World, to string) string {
	tb.Helper()
	listener, err := net.Listen("unix", shortDir(tb)+"/r")
	must(tb, err)
	var serving sync.WaitGroup
	tb.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			guest, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer guest.Close()
				server, err := world.Connect(tb.Context(), mustAddrPort(to))
				if err != nil {
					return
				}
				defer server.Close()
				done := make(chan struct{})
				go func() {
					defer close(done)
					io.Copy(guest, server) //nolint:errcheck // a benchmark
					closeWrite(guest)      //nolint:errcheck // a benchmark
				}()
				io.Copy(server, guest) //nolint:errcheck // a benchmark
				closeWrite(server)     //nolint:errcheck // a benchmark
				<-done
			})
		}
	})
	return listener.Addr().String()
}

// pouring answers a hello with zeros until the guest has enough.
func pouring(conn net.Conn) {
	conn.Read(make([]byte, 4096)) //nolint:errcheck // the hello
	buf := make([]byte, 256<<10)
	for {
		if _, err := conn.Write(buf); err != nil {
			return
		}
	}
}

func pourScene(tb testing.TB) (*scene, string) {
	tb.Helper()
	w := newWorld(tb)
	addr := w.Address()
	w.Name(goodHost, addr)
	must(tb, w.Serve(netip.AddrPortFrom(addr, 443), pouring))
	s := newScene(tb, w, setting{rules: plainRules(), config: limited(Limits{Connections: 2048})})
	return s, plainRelay(tb, w, netip.AddrPortFrom(addr, 443).String())
}

// BenchmarkThroughput pours through a tunnel and through a plain relay over the
// same sockets, alternately, and reports their ratio.
func BenchmarkThroughput(b *testing.B) {
	s, relay := pourScene(b)
	hello := helloBytes(b, goodHost)
	const each = 256 << 20
	pour := func(conn net.Conn, err error) time.Duration {
		must(b, err)
		defer conn.Close()
		start := time.Now()
		_, err = conn.Write(hello)
		must(b, err)
		buf := make([]byte, 256<<10)
		for got := 0; got < each; {
			n, err := conn.Read(buf)
			must(b, err)
			got += n
		}
		return time.Since(start)
	}
	var ours, theirs []time.Duration
	for b.Loop() {
		theirs = append(theirs, pour(net.Dial("unix", relay)))
		conn, _, err := s.tunnel(goodHost + ":443")
		ours = append(ours, pour(conn, err))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	o, t := ours[len(ours)/2], theirs[len(theirs)/2]
	b.ReportMetric(each/o.Seconds()/(1<<20), "tunnel-MiB/s")
	b.ReportMetric(each/t.Seconds()/(1<<20), "relay-MiB/s")
	b.ReportMetric(t.Seconds()/o.Seconds(), "ratio")
}

// BenchmarkAddedLatency asks small questions over kept connections, directly and
// through the proxy, in turn, and reports what the proxy adds.
func BenchmarkAddedLatency(b *testing.B) {
	for name, c := range map[string]struct {
		rule   sandbox.EgressRule
		scheme string
	}{
		"plain":  {rule(goodHost, "80", "*", "*"), "http"},
		"tunnel": {rule(goodHost, "443", "*", "*"), "https"},
		"opened": {rule(goodHost, "443", "GET", "*"), "https"},
	} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			addr, err := w.Site(goodHost, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })) //nolint:errcheck // a benchmark
			must(b, err)
			s := newScene(b, w, setting{rules: map[string]sandbox.EgressRule{"api": c.rule}})
			port := uint16(httpPort)
			if c.scheme == "https" {
				port = httpsPort
			}
			straight, err := w.Connect(b.Context(), netip.AddrPortFrom(addr, port))
			must(b, err)
			defer straight.Close()
			var through net.Conn
			target := "/"
			switch name {
			case "plain":
				through, err = s.dial()
				target = "http://" + goodHost + "/"
			case "tunnel":
				through, err = s.tls(goodHost+":443", goodHost, false, "http/1.1")
			default:
				through, err = s.tls(goodHost+":443", goodHost, true, "http/1.1")
			}
			must(b, err)
			defer through.Close()
			must(b, through.SetDeadline(time.Time{}))
			if port == httpsPort {
				straight = tls.Client(straight, &tls.Config{RootCAs: w.Roots(), ServerName: goodHost, NextProtos: []string{"http/1.1"}})
			}
			a, z := newAsker(straight, "/"), newAsker(through, target)
			for range 500 {
				a.ask(b)
				z.ask(b)
			}
			var direct, proxied []time.Duration
			for b.Loop() {
				direct = append(direct, a.ask(b))
				proxied = append(proxied, z.ask(b))
			}
			report(b, direct, proxied)
		})
	}
}

type asker struct {
	conn net.Conn
	br   *bufio.Reader
	text string
}

func newAsker(conn net.Conn, target string) *asker {
	return &asker{conn, bufio.NewReader(conn), "GET " + target + " HTTP/1.1\r\nHost: " + goodHost + "\r\n\r\n"}
}

func (a *asker) ask(tb testing.TB) time.Duration {
	tb.Helper()
	start := time.Now()
	_, err := io.WriteString(a.conn, a.text)
	must(tb, err)
	r, err := readReply(a.br, http.MethodGet)
	if err != nil || r.status != 200 {
		tb.Fatal(r.status, err)
	}
	return time.Since(start)
}

func percentile(d []time.Duration, p float64) time.Duration {
	slices.Sort(d)
	return d[min(int(float64(len(d))*p), len(d)-1)]
}

func report(b *testing.B, direct, proxied []time.Duration) {
	b.Helper()
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	for name, p := range map[string]float64{"median": 0.5, "p99": 0.99} {
		b.ReportMetric(us(percentile(direct, p)), "direct-"+name+"-us")
		b.ReportMetric(us(percentile(proxied, p)-percentile(direct, p)), "added-"+name+"-us")
	}
}

// BenchmarkNewTunnel opens a tunnel with TLS inside, passed through and opened.
func BenchmarkNewTunnel(b *testing.B) {
	for name, methods := range map[string]string{"through": "*", "opened": "GET"} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			site(b, w, goodHost)
			s := newScene(b, w, setting{rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "443", methods, "*")}})
			for b.Loop() {
				conn, err := s.tls(goodHost+":443", goodHost, methods != "*", "http/1.1")
				must(b, err)
				conn.Close()
			}
		})
	}
}

// BenchmarkDenial is the cost of a refused request on a new connection.
func BenchmarkDenial(b *testing.B) {
	w := newWorld(b)
	s := newScene(b, w, setting{rules: plainRules()})
	text := absolute(evilHost, "/")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.raw(text); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAThousandTunnelsTakeLittleMemory holds a thousand tunnels open, sends
// through all of them, and looks at what they take.
func TestAThousandTunnelsTakeLittleMemory(t *testing.T) { //nolint:paralleltest // it measures
	if testing.Short() || raced {
		t.Skip("a thousand tunnels are not short")
	}
	w := newWorld(t)
	addr := w.Address()
	w.Name(goodHost, addr)
	must(t, w.Serve(netip.AddrPortFrom(addr, 443), func(conn net.Conn) {
		buf := make([]byte, 512)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			conn.Write(buf[:n]) //nolint:errcheck // the reader tells
		}
	}))
	s := newScene(t, w, setting{rules: plainRules(), config: limited(Limits{Connections: 2048})})
	hello := helloBytes(t, goodHost)
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	use := func() (int64, error) {
		for _, c := range conns {
			if _, err := io.WriteString(c, "ping"); err != nil {
				return 0, err
			}
			if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
				return 0, err
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse), nil
	}
	base, err := use()
	must(t, err)
	const tunnels = 1000
	for range tunnels {
		conn, _, err := s.tunnel(goodHost + ":443")
		must(t, err)
		conns = append(conns, conn)
		_, err = conn.Write(hello)
		must(t, err)
		_, err = io.ReadFull(conn, make([]byte, len(hello)))
		must(t, err)
	}
	opened, err := use()
	must(t, err)
	for range 3 {
		_, err = use()
		must(t, err)
	}
	used, err := use()
	must(t, err)
	t.Logf("%d bytes a tunnel, the test's own ends among them; %d more after use", (opened-base)/tunnels, used-opened)
	const most = 64 << 10
	if each := (opened - base) / tunnels; each > most {
		t.Errorf("a tunnel takes %d bytes", each)
	}
	if used-opened > tunnels<<10 {
		t.Errorf("using them took %d bytes more", used-opened)
	}
}

// TestTenThousandSlowConnectionsFromOneSandboxAreNothingToAnother opens them in
// A, and asks from B all the while.
func TestTenThousandSlowConnectionsFromOneSandboxAreNothingToAnother(t *testing.T) { //nolint:paralleltest // it measures
	if testing.Short() || raced {
		t.Skip("ten thousand connections are not short")
	}
	w := newWorld(t)
	site(t, w, goodHost)
	pool, err := NewPool(PoolLimits{Connections: 600})
	must(t, err)
	share := func(c *Config) { c.Pool = pool }
	a := newScene(t, w, setting{rules: plainRules(), config: func(c *Config) {
		share(c)
		c.Limits.HeaderTimeout = 200 * time.Millisecond
	}})
	b := newScene(t, w, setting{rules: plainRules(), config: share})
	through, err := b.dial()
	must(t, err)
	defer through.Close()
	z := newAsker(through, "http://"+goodHost+"/")
	measure := func(until func() bool) []time.Duration {
		var took []time.Duration
		for n := 0; n < 2000 || !until(); n++ {
			took = append(took, z.ask(t))
		}
		return took
	}
	quiet := measure(func() bool { return true })
	var attackers sync.WaitGroup
	done := make(chan struct{})
	const connections, at = 10_000, 500
	refused := make(chan error, at)
	for range at {
		attackers.Go(func() {
			for range connections / at {
				if err := slowly(a.path); err != nil {
					refused <- err
					return
				}
			}
		})
	}
	go func() {
		attackers.Wait()
		close(done)
	}()
	busy := measure(func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	close(refused)
	for err := range refused {
		t.Error(err)
	}
	another, err := b.tls(goodHost+":443", goodHost, false)
	must(t, err)
	another.Close()
	t.Logf("B alone: median %v, p99 %v; beside %d slow connections: median %v, p99 %v of %d requests",
		percentile(quiet, 0.5), percentile(quiet, 0.99), connections, percentile(busy, 0.5), percentile(busy, 0.99), len(busy))
}

// slowly sends half a head and waits until it is given up.
func slowly(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET http://"); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(2 * patience)); err != nil {
		return err
	}
	if _, err = io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("a slow connection is not ended: %w", err)
	}
	return nil // ended, by an answer or without one
}

func mustAddrPort(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }
