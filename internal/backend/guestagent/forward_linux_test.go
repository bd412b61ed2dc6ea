package guestagent_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// unixServer answers each connection with what answer says, on a socket that
// everybody can connect to.
func unixServer(t *testing.T, answer func(*net.UnixConn)) (path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sock") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = c.Close() }()
				answer(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return path
}

// freePort is one that nothing listened on a moment ago.
func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, text, _ := net.SplitHostPort(l.Addr().String())
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(port)
}

func dial(t *testing.T, port uint16) *net.TCPConn {
	t.Helper()
	c, err := net.DialTCP("tcp4", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestForwardCarriesBytesAndEndsBothWays(t *testing.T) {
	t.Parallel()
	b := start(t, asSelf(), guestagent.Options{})
	// The server answers only once the client has said that it sends no more.
	socket := unixServer(t, func(c *net.UnixConn) {
		all, _ := io.ReadAll(c)
		_, _ = c.Write(append([]byte("got "), all...))
		_ = c.CloseWrite()
	})
	port := freePort(t)
	if err := b.Forward(t.Context(), guestagent.Forwarding{Port: port, Socket: socket}); err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 3<<20)
	_, _ = rand.Read(big)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			c := dial(t, port)
			go func() {
				_, _ = c.Write(big)
				_ = c.CloseWrite()
			}()
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, append([]byte("got "), big...)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	all.Wait()
	if err := b.Forward(t.Context(), guestagent.Forwarding{Port: port, Socket: socket}); err == nil {
		t.Error("one port was forwarded twice")
	}
}

func TestForwardWithNobodyBehindClosesTheClient(t *testing.T) {
	t.Parallel()
	b := start(t, asSelf(), guestagent.Options{})
	port := freePort(t)
	if err := b.Forward(t.Context(), guestagent.Forwarding{Port: port, Socket: filepath.Join(b.dir, "absent")}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := io.ReadAll(dial(t, port)); len(got) > 0 || err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%q, %v", got, err)
		}
	}
	b.alive()
}

func TestForwardHoldsNoMoreConnectionsThanItMay(t *testing.T) {
	t.Parallel()
	b := start(t, asSelf(), guestagent.Options{})
	var open struct {
		sync.Mutex
		now, most int
	}
	socket := unixServer(t, func(c *net.UnixConn) {
		open.Lock()
		open.now++
		open.most = max(open.most, open.now)
		open.Unlock()
		_, _ = io.Copy(c, c)
		open.Lock()
		open.now--
		open.Unlock()
	})
	port := freePort(t)
	if err := b.Forward(t.Context(), guestagent.Forwarding{Port: port, Socket: socket, Connections: 3}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			c := dial(t, port)
			_, _ = c.Write([]byte("x"))
			_ = c.CloseWrite()
			if got, err := io.ReadAll(c); string(got) != "x" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	if open.most > 3 {
		t.Errorf("%d connections at once", open.most)
	}
}

func TestForwardBringsLoopbackUpWhereItMay(t *testing.T) {
	t.Parallel()
	socket := unixServer(t, func(c *net.UnixConn) {
		all, _ := io.ReadAll(c)
		_, _ = c.Write(bytes.ToUpper(all))
	})
	forwarding := guestagent.Forwarding{Port: 3128, Socket: socket}
	b := start(t, asRootInside(), guestagent.Options{})
	if err := b.Forward(t.Context(), forwarding); err != nil {
		t.Fatal(err)
	}
	if r := b.probe(t.Context(), "fetch", "3128", "hello"); r.stdout != "HELLO" {
		t.Errorf("%+v", r)
	}
	if r := b.probe(t.Context(), "fetch", "3129", "hello"); r.code != 1 {
		t.Errorf("another port: %+v", r)
	}
	// The engine does it where the agent may not.
	if err := start(t, asFirst(), guestagent.Options{}).Forward(t.Context(), forwarding); !errors.Is(err, engine.ErrPermission) {
		t.Errorf("without the right: %v", err)
	}
}

func TestForwardRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	b := start(t, asRootInside(), guestagent.Options{})
	for name, f := range map[string]guestagent.Forwarding{
		"no port":              {Socket: "/s"},
		"too long a path":      {Port: 1234, Socket: "/" + strings.Repeat("s", 108)},
		"no path":              {Port: 1234},
		"a relative path":      {Port: 1234, Socket: "s"},
		"NUL":                  {Port: 1234, Socket: "/s\x00"},
		"too many connections": {Port: 1234, Socket: "/s", Connections: 1025},
		"negative connections": {Port: 1234, Socket: "/s", Connections: -1},
	} {
		if err := b.Forward(t.Context(), f); err == nil || errors.Is(err, engine.ErrGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for port := range uint16(8) {
		if err := b.Forward(t.Context(), guestagent.Forwarding{Port: 2000 + port, Socket: "/s"}); err != nil {
			t.Error(err)
		}
	}
	if err := b.Forward(t.Context(), guestagent.Forwarding{Port: 2010, Socket: "/s"}); !errors.Is(err, guestagent.ErrBusy) {
		t.Errorf("a ninth forward: %v", err)
	}
}
