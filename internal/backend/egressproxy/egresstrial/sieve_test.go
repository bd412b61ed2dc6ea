package egresstrial

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// sieve is a proxy as people write them in an afternoon: it compares the host with
// a list, and passes on whatever comes. With early it looks names up first.
func sieve(t *testing.T, trial *Trial, early bool) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				pass(trial, conn, early)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		trial.Close()
		all.Wait()
		_ = os.RemoveAll(dir)
	})
	return socket
}

func pass(trial *Trial, conn net.Conn, early bool) {
	from := bufio.NewReader(conn)
	r, err := http.ReadRequest(from)
	if err != nil {
		return
	}
	host, port, err := net.SplitHostPort(r.URL.Host)
	if err != nil {
		host, port = r.URL.Host, "80"
	}
	addr, resolved := netip.Addr{}, false
	look := func() {
		if found, err := trial.LookupNetIP(context.Background(), "ip", host+"."); err == nil {
			addr, resolved = found[0], true
		}
		if literal, err := netip.ParseAddr(host); err == nil {
			addr, resolved = literal, true
		}
	}
	if early {
		look()
	}
	if host == shut || host == "other.example.com" {
		_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 32\r\nContent-Type: application/json\r\n\r\n"+
			`{"code":"`+string(sandbox.CodeEgressDenied)+`"}        `)
		return
	}
	look()
	n, _ := strconv.ParseUint(port, 10, 16)
	if !resolved {
		return
	}
	server, err := trial.Connect(context.Background(), netip.AddrPortFrom(addr, uint16(n)))
	if err != nil {
		_, _ = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer server.Close()
	if r.Method == http.MethodConnect {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	} else {
		r.RequestURI = ""
		if r.Write(server) != nil {
			return
		}
	}
	go func() {
		_, _ = io.Copy(server, from)
		_ = server.Close()
	}()
	_, _ = io.Copy(conn, server)
}

// shortPath is another path to a socket.
func shortPath(t *testing.T, socket string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	short := filepath.Join(dir, "s")
	if err := os.Symlink(socket, short); err != nil {
		t.Fatal(err)
	}
	return short
}
