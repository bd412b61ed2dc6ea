package egressproxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// open opens a tunnel: the guest's TLS ends here, with a certificate of the
// sandbox's authority, and each request inside is judged. A host that the
// authority may not speak for is refused, never passed through.
func (g *guest) open(ctx context.Context, to destination) (passage, bool) {
	cert, d := g.proxy.certificate(to)
	if d != nil {
		g.refuse(d, nil)
		return passage{}, false
	}
	begins, d := g.hello(to)
	if d != nil {
		g.proxy.pace.wait(ctx)
		g.proxy.events.deny(egress.LayerConnection, d.at(to))
		return passage{}, false
	}
	g.giveReader()
	in := inbound{layer: egress.LayerOpened, tunnel: to}
	raw := newReplay(g.conn, append(begins.first, begins.behind...), in)
	defer raw.Close() //nolint:errcheck // nothing more is said on it
	protocols := []string{"h2", "http/1.1"}
	room, ok := g.proxy.gates.multiplexed.try()
	if !ok {
		protocols = protocols[1:]
	}
	defer func() { room.leave() }()
	conn, d := g.proxy.handshake(ctx, raw, cert, protocols)
	if d != nil {
		g.proxy.pace.wait(ctx)
		g.proxy.events.deny(egress.LayerConnection, d.at(to))
		return passage{}, false
	}
	p := passage{layer: in.layer, began: g.proxy.events.clock()}
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		g.proxy.streams.serve(ctx, conn, raw)
	} else {
		room.leave()
		room = ticket{}
		g.proxy.serveHTTP1(ctx, conn, in)
		conn.Close()
	}
	p.sent, p.received = raw.sent.Load(), raw.received.Load()
	return p, true
}

func (p *Proxy) certificate(to destination) (*tls.Certificate, *denial) {
	refused := deny(sandbox.CodeEgressOpeningRefused, http.StatusForbidden,
		"the rules for the host ask for methods or paths, and the sandbox's authority may not speak for it").at(to)
	if p.authority == nil {
		return nil, refused
	}
	cert, err := p.authority.Certificate(to.name, to.addr, p.config.Clock())
	if err != nil {
		return nil, refused
	}
	return cert, nil
}

// handshake ends the guest's TLS.
func (p *Proxy) handshake(ctx context.Context, raw net.Conn, cert *tls.Certificate, protocols []string) (*tls.Conn, *denial) {
	room, err := enter(ctx, &p.gates.handshakes, p.config.Limits.HandshakeTimeout, "connections are being opened")
	if err != nil {
		return nil, deny(sandbox.CodeEgressProxyLimit, 0, "too many connections are being opened at once")
	}
	defer room.leave()
	ctx, cancel := context.WithTimeout(ctx, p.config.Limits.HandshakeTimeout)
	defer cancel()
	conn := tls.Server(raw, &tls.Config{
		Certificates: []tls.Certificate{*cert}, NextProtos: protocols,
		MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, deny(sandbox.CodeEgressOpeningRefused, 0, "the program did not accept the sandbox's certificate")
	}
	return conn, nil
}

// replay is a connection of which the first bytes were read already. It counts what
// the guest has sent and received.
type replay struct {
	net.Conn
	seen []byte
	in   inbound
	once sync.Once
	gone chan struct{} // closed with it

	sent, received atomic.Int64
}

func newReplay(conn net.Conn, seen []byte, in inbound) *replay {
	return &replay{Conn: conn, seen: seen, in: in, gone: make(chan struct{})}
}

// Read reads what was read already, and then on.
func (r *replay) Read(p []byte) (int, error) {
	if len(r.seen) > 0 {
		n := copy(p, r.seen)
		r.seen = r.seen[n:]
		r.sent.Add(int64(n))
		return n, nil
	}
	n, err := r.Conn.Read(p)
	r.sent.Add(int64(n))
	return n, err
}

// Write writes to the guest.
func (r *replay) Write(p []byte) (int, error) {
	n, err := r.Conn.Write(p)
	r.received.Add(int64(n))
	return n, err
}

// Close closes the connection.
func (r *replay) Close() error {
	defer r.once.Do(func() { close(r.gone) })
	return r.Conn.Close()
}
