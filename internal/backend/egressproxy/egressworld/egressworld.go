// Package egressworld is an internet for tests: names, public addresses, and
// servers with certificates, all on the loopback interface of the machine. It is
// given to an egress proxy as its resolver, its way to connect and its roots, so
// that the proxy judges names and addresses as it does anywhere: names lead to
// public addresses here as well, and only the very last step, from a judged
// address to a socket, ends on loopback.
//
// No product uses it. It imports nothing of package testing, so that programs
// which are started by tests can have it. Start with [New].
package egressworld

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"syscall"
)

// World is the internet. It is safe for concurrent use.
type World struct {
	roots *x509.CertPool
	root  *x509.Certificate
	key   *ecdsa.PrivateKey

	mu      sync.Mutex
	next    netip.Addr
	answers map[string]func(n int) []netip.Addr
	lookups []string
	counts  map[string]int
	places  map[netip.AddrPort]string // where an address and port are served
	dials   []netip.AddrPort
	stops   []func()
	serving sync.WaitGroup
}

// New makes an empty world.
func New() (*World, error) {
	w := &World{
		next:    netip.AddrFrom4([4]byte{11, 0, 0, 0}),
		answers: make(map[string]func(int) []netip.Addr),
		counts:  make(map[string]int),
		places:  make(map[netip.AddrPort]string),
	}
	var err error
	w.root, w.key, err = newRoot()
	if err != nil {
		return nil, err
	}
	w.roots = x509.NewCertPool()
	w.roots.AddCert(w.root)
	return w, nil
}

// Close stops all servers and waits for them.
func (w *World) Close() {
	w.mu.Lock()
	stops := w.stops
	w.stops = nil
	w.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	w.serving.Wait()
}

// Roots verify the world's servers.
func (w *World) Roots() *x509.CertPool { return w.roots }

// RootPEM is the certificate of the world's authority.
func (w *World) RootPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.root.Raw})
}

// Address takes an address that nobody has yet: a public one.
func (w *World) Address() netip.Addr {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = w.next.Next()
	return w.next
}

// Name gives a name its addresses.
func (w *World) Name(name string, addrs ...netip.Addr) {
	w.Answer(name, func(int) []netip.Addr { return addrs })
}

// Answer gives a name addresses that may differ from lookup to lookup; n counts
// them from 0.
func (w *World) Answer(name string, answer func(n int) []netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[name] = answer
}

// LookupNetIP resolves a rooted name.
func (w *World) LookupNetIP(_ context.Context, _, rooted string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.counts[rooted]
	w.counts[rooted]++
	w.lookups = append(w.lookups, rooted)
	name := rooted
	if last := len(rooted) - 1; last >= 0 && rooted[last] == '.' {
		name = rooted[:last]
	}
	answer, ok := w.answers[name]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return answer(n), nil
}

// Lookups are the names that were looked up, as they were asked for.
func (w *World) Lookups() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.lookups...)
}

// Dials are the addresses that were connected to, or tried.
func (w *World) Dials() []netip.AddrPort {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]netip.AddrPort(nil), w.dials...)
}

// Places are where the servers really listen, as ADDRESS:PORT of this machine.
func (w *World) Places() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Values(w.places))
}

// Forget forgets lookups and dials.
func (w *World) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups, w.dials = nil, nil
}

// Connect connects to an address of the world. Where nobody is, the connection is
// refused.
func (w *World) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dials = append(w.dials, to)
	place, ok := w.places[to]
	w.mu.Unlock()
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", place)
}

// Serve answers connections to an address and port.
func (w *World) Serve(at netip.AddrPort, answer func(net.Conn)) error {
	listener, err := w.listen(at)
	if err != nil {
		return err
	}
	w.serving.Go(func() {
		var each sync.WaitGroup
		defer each.Wait()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			each.Go(func() {
				defer conn.Close()
				answer(conn)
			})
		}
	})
	return nil
}

// HTTP serves a handler at an address and port, without TLS.
func (w *World) HTTP(at netip.AddrPort, handler http.Handler) error {
	listener, err := w.listen(at)
	if err != nil {
		return err
	}
	w.serve(listener, &http.Server{Handler: handler}) //nolint:gosec // it is for tests, which want to see slow clients
	return nil
}

// HTTPS serves a handler over TLS, as names: HTTP/2 and HTTP/1.1. Change, where it
// is not nil, changes how TLS is spoken.
func (w *World) HTTPS(at netip.AddrPort, handler http.Handler, change func(*tls.Config), names ...string) error {
	cert, err := w.Certificate(names...)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
	if change != nil {
		change(config)
	}
	listener, err := w.listen(at)
	if err != nil {
		return err
	}
	w.serve(tls.NewListener(listener, config), &http.Server{Handler: handler, TLSConfig: config, ErrorLog: silent()}) //nolint:gosec // as above
	return nil
}

// Accept speaks TLS as a server of a name, without HTTP/2, on a connection that
// [World.Serve] answers.
func (w *World) Accept(conn net.Conn, names ...string) (net.Conn, error) {
	cert, err := w.Certificate(names...)
	if err != nil {
		return nil, err
	}
	inside := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12})
	if err := inside.Handshake(); err != nil { //nolint:noctx // it ends with the connection
		return nil, fmt.Errorf("speak TLS in a world for tests: %w", err)
	}
	return inside, nil
}

// Site gives a name an address of its own and serves a handler there on port 80
// and over TLS on port 443.
func (w *World) Site(name string, handler http.Handler) (netip.Addr, error) {
	addr := w.Address()
	w.Name(name, addr)
	return addr, errors.Join(
		w.HTTP(netip.AddrPortFrom(addr, 80), handler),
		w.HTTPS(netip.AddrPortFrom(addr, 443), handler, nil, name),
	)
}

func (w *World) listen(at netip.AddrPort) (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it waits for nobody
	if err != nil {
		return nil, fmt.Errorf("serve %s in a world for tests: %w", at, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places[at] = listener.Addr().String()
	w.stops = append(w.stops, func() { listener.Close() })
	return listener, nil
}

func (w *World) serve(listener net.Listener, server *http.Server) {
	w.mu.Lock()
	w.stops = append(w.stops, func() { server.Close() })
	w.mu.Unlock()
	w.serving.Go(func() { server.Serve(listener) }) //nolint:errcheck // it ends with the world
}
