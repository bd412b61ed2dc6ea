package egressproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// heard keeps what a server reads of all its connections.
type heard struct {
	mu   sync.Mutex
	text []byte
}

type heardConn struct {
	net.Conn
	by *heard
}

func (c heardConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.by.mu.Lock()
	defer c.by.mu.Unlock()
	c.by.text = append(c.by.text, p[:n]...)
	return n, err
}

func (h *heard) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Contains(h.text, []byte(text))
}

// otherHost is as long as the good one, so that a hello can be made to name it.
var otherHost = "x" + goodHost[1:]

// asksAgain is a host whose server asks each client for a second hello.
func asksAgain(tb testing.TB, w *egressworld.World) *heard {
	tb.Helper()
	h, addr := &heard{}, w.Address()
	w.Name(goodHost, addr)
	cert, err := w.Certificate(goodHost)
	must(tb, err)
	// No client sends a key for it unasked.
	config := &tls.Config{Certificates: []tls.Certificate{*cert}, CurvePreferences: []tls.CurveID{tls.CurveP521}}
	must(tb, w.Serve(netip.AddrPortFrom(addr, 443), func(conn net.Conn) {
		inside := tls.Server(heardConn{conn, h}, config)
		io.Copy(inside, inside) //nolint:errcheck // an echo
		inside.Close()
	}))
	return h
}

// rewriting changes what a client writes after its first message.
type rewriting struct {
	net.Conn
	change func([]byte) []byte
	first  bool
}

func (r *rewriting) Write(p []byte) (int, error) {
	if !r.first {
		r.first = true
		return r.Conn.Write(p)
	}
	_, err := r.Conn.Write(r.change(slices.Clone(p)))
	return len(p), err
}

// again speaks TLS with a server that asks for a second hello, which is changed.
func (s *scene) again(change func([]byte) []byte) (*tls.Conn, error) {
	conn, r, err := s.tunnel(goodHost + ":443")
	if err != nil || conn == nil {
		return nil, fmt.Errorf("no tunnel: %d, %w", r.status, err)
	}
	inside := tls.Client(&rewriting{Conn: conn, change: change}, &tls.Config{ServerName: goodHost, RootCAs: s.world.Roots()})
	if err := inside.Handshake(); err != nil {
		conn.Close()
		return nil, err
	}
	if !inside.ConnectionState().HelloRetryRequest {
		return inside, errors.New("the server did not ask for a second hello")
	}
	return inside, nil
}

func unchanged(p []byte) []byte { return p }

func renamed(p []byte) []byte { return bytes.ReplaceAll(p, []byte(goodHost), []byte(otherHost)) }

func secondHello() probe {
	var server *heard
	return probe{
		name: "a second hello for another host than the first", rules: plainRules(),
		world: func(tb testing.TB, w *egressworld.World) { tb.Helper(); server = asksAgain(tb, w) },
		run: func(s *scene) error {
			conn, err := s.again(unchanged)
			if err != nil {
				return fmt.Errorf("the same name again: %w", err)
			}
			conn.Close()
			if conn, err = s.again(renamed); err == nil {
				conn.Close()
				return errors.New("TLS with two names works")
			}
			if server.has(otherHost) {
				return errors.New("the server was told the other name")
			}
			return s.events.code(sandbox.CodeEgressSNIMismatch)
		},
	}
}

func TestNothingGoesOnToAServerThatAsksAgainButAHelloForTheSameHost(t *testing.T) {
	t.Parallel()
	record := func(kind byte, content string) string {
		return string([]byte{kind, 3, 3, byte(len(content) >> 8), byte(len(content))}) + content
	}
	hello := func(tb testing.TB, host string) string { tb.Helper(); return string(helloBytes(tb, host)) }
	for name, c := range map[string]struct {
		first, then string
		code        sandbox.Code // of the refusal; none where it goes on
		ends        bool
	}{
		"the same, behind early data": {hello(t, goodHost), record(20, "\x01") + record(23, "early") + hello(t, goodHost), "", false},
		"the same, in two records":    {hello(t, goodHost), inTwo(hello(t, goodHost)), "", false},
		"another":                     {hello(t, goodHost), hello(t, otherHost), sandbox.CodeEgressSNIMismatch, false},
		"another, in two records":     {hello(t, goodHost), inTwo(hello(t, otherHost)), sandbox.CodeEgressSNIMismatch, false},
		"another, behind early data":  {hello(t, goodHost), record(20, "\x01") + record(23, "early") + hello(t, otherHost), sandbox.CodeEgressSNIMismatch, false},
		"another, before it is asked": {hello(t, goodHost) + hello(t, otherHost), "", sandbox.CodeEgressSNIMismatch, false},
		"the same, and the end":       {hello(t, goodHost) + hello(t, goodHost), "", "", true},
		"another, and the end":        {hello(t, goodHost) + hello(t, otherHost), "", sandbox.CodeEgressSNIMismatch, true},
		"none":                        {hello(t, goodHost), record(22, "\x10\x00\x00\x01x"), sandbox.CodeEgressNotTLS, false},
		"HTTP":                        {hello(t, goodHost), "GET / HTTP/1.1\r\nHost: " + otherHost + "\r\n\r\n", sandbox.CodeEgressNotTLS, false},
		"another in the first record": {joined(hello(t, goodHost), hello(t, otherHost)), "", sandbox.CodeEgressNotTLS, false},
		"endless early data":          {hello(t, goodHost), strings.Repeat(record(23, strings.Repeat(otherHost, 100)), 200), sandbox.CodeEgressNotTLS, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := asksAgain(t, w)
			s := newScene(t, w, setting{rules: plainRules()})
			conn, r, err := s.tunnel(goodHost + ":443")
			must(t, err)
			if conn == nil {
				t.Fatal(r)
			}
			defer conn.Close()
			_, err = io.WriteString(conn, c.first)
			must(t, err)
			if c.then != "" {
				_, err = io.ReadFull(conn, make([]byte, 64)) // it asks
				must(t, err)
				io.WriteString(conn, c.then) //nolint:errcheck // it may be refused before it is written
			}
			if c.ends {
				must(t, closeWrite(conn))
			}
			if c.code == "" { // what the server makes of it is its own affair, but it gets it
				must(t, closedByPeer(conn))
				conn.Close()
				must(t, s.events.await(isEnd))
				if ends, _ := s.events.ends(); ends[0].End.Sent != int64(len(c.first)+len(c.then)) {
					t.Errorf("%+v of %d bytes", ends[0].End, len(c.first)+len(c.then))
				}
				return
			}
			must(t, s.events.code(c.code))
			if server.has(otherHost) {
				t.Error("the server was told the other name")
			}
		})
	}
}

// inTwo cuts the one record of a hello into two.
func inTwo(hello string) string {
	const header = 5
	body := hello[header:]
	cut := func(b string) string { return hello[:3] + string([]byte{byte(len(b) >> 8), byte(len(b))}) + b }
	return cut(body[:20]) + cut(body[20:])
}

// joined puts two hellos into one record.
func joined(a, b string) string {
	const header = 5
	body := a[header:] + b[header:]
	return a[:3] + string([]byte{byte(len(body) >> 8), byte(len(body))}) + body
}

func TestAGuestIsHeldOnlyUntilTheServerHasAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr := w.Address()
	w.Name(goodHost, addr)
	got, say := make(chan string), make(chan string)
	must(t, w.Serve(netip.AddrPortFrom(addr, 443), func(conn net.Conn) {
		hello := len(helloBytes(t, goodHost))
		io.ReadFull(conn, make([]byte, hello)) //nolint:errcheck // what comes then tells
		for text := range say {
			if text == "" {
				break
			}
			io.WriteString(conn, text) //nolint:errcheck // the guest tells
		}
		rest, _ := io.ReadAll(conn)
		got <- string(rest)
	}))
	s := newScene(t, w, setting{rules: plainRules()})
	for name, answers := range map[string][]string{
		"no TLS":            {"HTTP/1.1 400 what\r\n"},
		"a warning first":   {"\x15\x03\x01\x00\x02\x01\x70", "\x16\x03\x03\x00\x30\x02\x00\x00\x2c\x03\x03" + strings.Repeat("r", 42)},
		"in pieces":         {"\x16\x03", "\x03\x00\x30\x02", "\x00\x00\x2c\x03\x03" + strings.Repeat("r", 42)},
		"another handshake": {"\x16\x03\x03\x00\x01\x01"},
	} {
		conn, _, err := s.tunnel(goodHost + ":443")
		must(t, err)
		_, err = io.WriteString(conn, string(helloBytes(t, goodHost))+"held")
		must(t, err)
		for _, text := range answers {
			say <- text
			_, err := io.ReadFull(conn, make([]byte, len(text)))
			must(t, err)
		}
		say <- ""
		must(t, closeWrite(conn))
		if rest := <-got; rest != "held" {
			t.Errorf("%s: the server got %q", name, rest)
		}
		conn.Close()
	}
	// A guest that ends its half at once is heard to do so by a server that waits for it.
	conn, _, err := s.tunnel(goodHost + ":443")
	must(t, err)
	defer conn.Close()
	_, err = conn.Write(helloBytes(t, goodHost))
	must(t, err)
	must(t, closeWrite(conn))
	say <- ""
	if rest := <-got; rest != "" {
		t.Errorf("the server got %q", rest)
	}
}

func TestATunnelIsCutWhileItsServerIsSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr := w.Address()
	w.Name(goodHost, addr)
	reached := make(chan struct{})
	must(t, w.Serve(netip.AddrPortFrom(addr, 443), func(conn net.Conn) {
		close(reached)
		io.Copy(io.Discard, conn) //nolint:errcheck // it says nothing
	}))
	s := newScene(t, w, setting{rules: plainRules()})
	conn, _, err := s.tunnel(goodHost + ":443")
	must(t, err)
	defer conn.Close()
	_, err = conn.Write(helloBytes(t, goodHost))
	must(t, err)
	<-reached
	must(t, s.events.await(func(e egress.Event) bool { return e.Allowed }))
	s.proxy.Reload(nil)
	must(t, closedByPeer(conn))
	must(t, s.proxy.Close(context.Background()))
}
