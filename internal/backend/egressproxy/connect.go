package egressproxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// connect serves a CONNECT to its end.
func (g *guest) connect(ctx context.Context, a asked) {
	g.in.layer = egress.LayerConnection
	to, d := g.proxy.connectTarget(a)
	if d != nil {
		g.refuse(d, nil)
		return
	}
	way, rule, d := g.proxy.tunnel(to)
	if d != nil {
		g.refuse(d, nil)
		return
	}
	f := &flight{request: to.connection(), opened: way == wayOpened, cut: g.cut}
	if !g.proxy.flights.board(f) {
		return
	}
	passed, began := g.pass(ctx, f, to, rule)
	g.proxy.flights.land(f) // what has ended is not cut any more
	if began {
		g.proxy.events.end(to, passed)
	}
}

// pass lets a tunnel go its way, to its end. It returns false where it never began.
func (g *guest) pass(ctx context.Context, f *flight, to destination, rule *egress.Rule) (passage, bool) {
	switch {
	case !g.proxy.admits(f): // the rules were replaced while it boarded
		g.cut(deny(sandbox.CodeEgressRulesChanged, statusRulesChanged, "the rules were replaced").at(to))
		return passage{}, false
	case f.opened:
		return g.open(ctx, to)
	default:
		return g.through(ctx, to, rule)
	}
}

// connectTarget reads where a CONNECT goes. Its port is stated, and nothing comes
// with it.
func (p *Proxy) connectTarget(a asked) (destination, *denial) {
	to, ok := parseAuthority(a.RequestURI, 0)
	switch {
	case !ok:
		d := malformed("a target that is not a host and a port")
		d.host = shown(a.RequestURI)
		return to, d
	case a.hasHost && !p.checks.Host(a.host, to.connection(), to.port):
		return to, deny(sandbox.CodeEgressAuthorityMismatch, http.StatusForbidden, "the Host header "+shown(a.host)).at(to)
	case a.ContentLength != 0:
		return to, malformed("a CONNECT with a body").at(to)
	case a.Header["Upgrade"] != nil:
		return to, deny(sandbox.CodeEgressProtocolRefused, http.StatusForbidden, "an upgrade").at(to)
	}
	return to, nil
}

// cut ends the connection from outside.
func (g *guest) cut(d *denial) {
	g.proxy.events.deny(egress.LayerConnection, d)
	g.conn.Close()
}

// through passes a tunnel through untouched, once its first message names the
// host. The server is reached before the guest is told to go on, so that it gets
// to read why where it cannot be.
func (g *guest) through(ctx context.Context, to destination, rule *egress.Rule) (passage, bool) {
	server, err := g.proxy.dialler.dial(ctx, to)
	if d, ok := errors.AsType[*denial](err); ok {
		g.refuse(d.about(to.connection()), nil)
		return passage{}, false
	}
	defer server.Close()
	begins, d := g.hello(to)
	if d != nil {
		g.proxy.pace.wait(ctx)
		g.proxy.events.deny(egress.LayerConnection, d.at(to))
		return passage{}, false
	}
	g.giveReader()
	p := passage{layer: egress.LayerConnection, rule: rule.Name(), began: g.proxy.events.clock()}
	g.proxy.events.allow(p.layer, p.rule, to, "", "")
	p.sent, p.received, d = g.carry(ctx, server, begins)
	if d != nil {
		g.proxy.events.deny(egress.LayerConnection, d.at(to))
	}
	return p, true
}

// carry sends what the guest said first and then carries everything else, to the
// tunnel's end.
func (g *guest) carry(ctx context.Context, server net.Conn, o opening) (sent, received int64, d *denial) {
	defer context.AfterFunc(ctx, func() { server.Close() })()
	idle := g.proxy.config.Limits.IdleTimeout
	send := func(piece []byte) bool {
		if server.SetWriteDeadline(time.Now().Add(idle)) != nil {
			return false
		}
		n, err := server.Write(piece)
		sent += int64(n)
		return err == nil
	}
	if !send(o.first) {
		return sent, 0, nil
	}
	begun := g.settle(server, o)
	sent += begun.sent
	if begun.ended || len(begun.next) > 0 && !send(begun.next) {
		return sent, begun.received, begun.denied
	}
	more, rest := g.proxy.relay(g.conn, server, idle)
	return sent + more, begun.received + rest, nil
}

const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// accessDenied is the alert of TLS that says so (RFC 8446 6.2), fatal, in a record
// of its own.
const accessDenied = "\x15\x03\x01\x00\x02\x02\x31"

// hello tells the guest to go on and holds its first message against the
// destination. It returns all bytes that the guest has sent so far.
func (g *guest) hello(to destination) (opening, *denial) {
	if err := g.write([]byte(established)); err != nil {
		return opening{}, deny(sandbox.CodeEgressNotTLS, 0, "the guest went away")
	}
	if err := g.conn.SetReadDeadline(time.Now().Add(g.proxy.config.Limits.HandshakeTimeout)); err != nil {
		return opening{}, deny(sandbox.CodeEgressNotTLS, 0, "the guest went away")
	}
	hello, seen, err := clienthello.Read(g.reader)
	end := clienthello.End(seen)
	switch {
	case errors.Is(err, clienthello.ErrNotTLS), err == nil && end == 0:
		return opening{}, deny(sandbox.CodeEgressNotTLS, 0, "bytes that are not TLS")
	case err != nil:
		return opening{}, deny(sandbox.CodeEgressNotTLS, 0, "nothing that was whole in time")
	}
	if wrong := g.proxy.checks.Hello(to.connection(), hello); wrong != "" {
		g.write([]byte(accessDenied)) //nolint:errcheck // it is refused, heard or not
		return opening{}, deny(sandbox.CodeEgressSNIMismatch, 0, wrong)
	}
	rest, err := g.reader.Peek(g.reader.Buffered())
	if err != nil {
		return opening{}, deny(sandbox.CodeEgressNotTLS, 0, "the guest went away")
	}
	seen = append(seen, rest...)
	return opening{hello, seen[:end:end], seen[end:]}, nil
}
