package egressproxy

import (
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// open is the set of open connections to servers, so that none outlives the proxy.
type open struct {
	mu     sync.Mutex
	conns  map[*serverConn]struct{}
	closed bool
}

// serverConn leaves the set when it is closed.
type serverConn struct {
	net.Conn
	in *open
}

// Close closes the connection.
func (c *serverConn) Close() error {
	c.in.mu.Lock()
	delete(c.in.conns, c)
	c.in.mu.Unlock()
	return c.Conn.Close()
}

func (o *open) add(conn net.Conn) (net.Conn, bool) {
	c := &serverConn{conn, o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, false
	}
	if o.conns == nil {
		o.conns = make(map[*serverConn]struct{})
	}
	o.conns[c] = struct{}{}
	return c, true
}

func (o *open) close() {
	o.mu.Lock()
	conns := o.conns
	o.conns, o.closed = nil, true
	o.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
}

// dialServer connects for a judged request. The transport asks for it by the
// authority of the URL that was made of the judged destination.
func (p *Proxy) dialServer(ctx context.Context, _, address string) (net.Conn, error) {
	to, ok := parseAuthority(address, 0)
	if !ok {
		return nil, deny(sandbox.CodeEgressRequestMalformed, http.StatusBadRequest, "no host and port")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.base, cancel)() //nolint:contextcheck // both end it
	conn, err := p.dialler.dial(ctx, to)
	if err != nil {
		return nil, err
	}
	kept, ok := p.servers.add(conn)
	if !ok {
		conn.Close()
		return nil, deny(sandbox.CodeEgressRulesChanged, statusRulesChanged, "the proxy is closed")
	}
	return kept, nil
}
