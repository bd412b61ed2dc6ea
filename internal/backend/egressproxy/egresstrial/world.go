package egresstrial

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
)

// world is an internet of names, public addresses and servers, all of it in this
// process. It notes what it hears. It is safe for concurrent use.
type world struct {
	authority *leafca.Authority
	addresses map[string]netip.Addr

	mu     sync.Mutex
	asked  map[string]int     // lookups of a name
	dialed map[netip.Addr]int // connections to an address
	greets map[string]int     // greetings by a server name
	heard  map[string]int     // requests, as "METHOD host/path"
	open   map[net.Conn]struct{}
	closed bool
	served sync.WaitGroup
}

// lifetime bounds a trial, which takes a second.
const lifetime = time.Hour

func newWorld(addresses map[string]netip.Addr) (*world, error) {
	scope := leafca.Scope{}
	for name, addr := range addresses {
		scope.Names = append(scope.Names, name)
		scope.Prefixes = append(scope.Prefixes, netip.PrefixFrom(addr, addr.BitLen()))
	}
	authority, err := leafca.New(scope, time.Now(), lifetime, 2*len(addresses))
	if err != nil {
		return nil, fmt.Errorf("make an internet to try egress against: %w", err)
	}
	return &world{
		authority: authority, addresses: addresses, asked: map[string]int{}, dialed: map[netip.Addr]int{},
		greets: map[string]int{}, heard: map[string]int{}, open: map[net.Conn]struct{}{},
	}, nil
}

func (w *world) note(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
}

// LookupNetIP answers for rooted names.
func (w *world) LookupNetIP(_ context.Context, _, rooted string) ([]netip.Addr, error) {
	name := rooted[:max(len(rooted)-1, 0)]
	w.note(func() { w.asked[name]++ })
	addr, ok := w.addresses[name]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return []netip.Addr{addr}, nil
}

// Connect connects to any address: there is a server at each that a name has.
func (w *world) Connect(_ context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialed[to.Addr()]++
	if w.closed || !w.has(to.Addr()) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	client, server := net.Pipe()
	w.open[server] = struct{}{}
	w.served.Go(func() {
		w.serve(server, to)
		w.note(func() { delete(w.open, server) })
		_ = server.Close() // a pipe
	})
	return client, nil
}

func (w *world) has(addr netip.Addr) bool {
	for _, a := range w.addresses {
		if a == addr {
			return true
		}
	}
	return false
}

// serve answers requests with the name that they are for. Port 80 is plain, all
// others speak TLS.
func (w *world) serve(conn net.Conn, at netip.AddrPort) {
	if at.Port() != plainPort {
		inside := tls.Server(conn, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			w.note(func() { w.greets[hello.ServerName]++ })
			if hello.ServerName == "" {
				return w.authority.Certificate("", at.Addr(), time.Now())
			}
			return w.authority.Certificate(hello.ServerName, netip.Addr{}, time.Now())
		}})
		conn = inside
	}
	requests := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(requests)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.note(func() { w.heard[r.Method+" "+r.Host+r.URL.Path]++ })
		const greeting = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nworld"
		if _, err := io.WriteString(conn, greeting); err != nil {
			return
		}
	}
}

// close ends every connection, and returns when nothing is served any more.
func (w *world) close() {
	w.note(func() {
		w.closed = true
		for conn := range w.open {
			_ = conn.Close() // a pipe
		}
	})
	w.served.Wait()
}

// count reads a counter.
func (w *world) count(of func() int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return of()
}
