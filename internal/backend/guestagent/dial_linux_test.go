package guestagent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestDialConnectsAsTheGuestDoes(t *testing.T) {
	t.Parallel()
	b := start(t, asSelf(), guestagent.Options{})
	agent := filepath.Join(b.bin, "agent")
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // a machine without IPv6
			continue
		}
		served := make(chan error, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				served <- err
				return
			}
			said, err := io.ReadAll(io.LimitReader(conn, 5))
			_, answered := conn.Write(append(said, "!"...))
			served <- errors.Join(err, answered, conn.Close())
		}()
		to := netip.MustParseAddrPort(l.Addr().String())
		conn, err := b.Dial(t.Context(), agent, "tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "hello"); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(conn); err != nil || string(got) != "hello!" {
			t.Errorf("%s: %q, %v", at, got, err)
		}
		if err := errors.Join(conn.Close(), <-served, l.Close()); err != nil {
			t.Error(err)
		}
		// The neighbour: the same port, where nobody is any more.
		if _, err := b.Dial(t.Context(), agent, "tcp", to); !errors.Is(err, guestagent.ErrNotConnected) {
			t.Errorf("%s, where nobody is: %v", at, err)
		}
	}
	b.alive()
}

func TestDialSendsDatagrams(t *testing.T) {
	t.Parallel()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	b := start(t, asSelf(), guestagent.Options{})
	conn, err := b.Dial(t.Context(), filepath.Join(b.bin, "agent"), "udp", netip.MustParseAddrPort(l.LocalAddr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 16)
	if n, _, err := l.ReadFrom(got); err != nil || string(got[:n]) != "hello" {
		t.Errorf("%q, %v", got[:n], err)
	}
}

// Whoever takes any failure for a wall has none.
func TestDialThatWasNotTriedIsNoWordOfTheKernels(t *testing.T) {
	t.Parallel()
	b := start(t, asSelf(), guestagent.Options{})
	agent := filepath.Join(b.bin, "agent")
	to := netip.MustParseAddrPort("127.0.0.1:9")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, dial := range map[string]func() (net.Conn, error){
		"no program":              func() (net.Conn, error) { return b.Dial(t.Context(), "/nowhere/agent", "tcp", to) },
		"a program of other ways": func() (net.Conn, error) { return b.Dial(t.Context(), "/bin/true", "tcp", to) },
		"one that talks":          func() (net.Conn, error) { return b.Dial(t.Context(), "/bin/echo", "tcp", to) },
		"no such network":         func() (net.Conn, error) { return b.Dial(t.Context(), agent, "raw", to) },
		"no address":              func() (net.Conn, error) { return b.Dial(t.Context(), agent, "tcp", netip.AddrPort{}) },
		"a caller that has gone":  func() (net.Conn, error) { return b.Dial(ended, agent, "tcp", to) },
	} {
		if _, err := dial(); err == nil || errors.Is(err, guestagent.ErrNotConnected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.alive()
}

func TestTheAgentAsAProgramTakesNothingElse(t *testing.T) {
	t.Parallel()
	b := start(t, asSelf(), guestagent.Options{})
	for _, args := range [][]string{
		{"serve"},
		{"dial"},
		{"dial", "tcp", "7f000001"},
		{"dial", "tcp", "7f000001", "65536"},
		{"dial", "tcp", "7f00000", "9"},
		{"dial", "tcp", "7f00000g", "9"},
		{"dial", "tcp", "7f000001ff", "9"},
		{"dial", "unix", "7f000001", "9"},
		{"dial", "tcp", "7f000001", "9", "x"},
	} {
		var out bytes.Buffer
		code, err := b.Exec(t.Context(), engine.ExecRequest{Args: append([]string{filepath.Join(b.bin, "agent")}, args...), Dir: "/", Stdout: &out, Stderr: &out})
		if err != nil || code != 2 || out.Len() > 0 {
			t.Errorf("%q: %d, %v, %q", args, code, err, &out)
		}
	}
}
