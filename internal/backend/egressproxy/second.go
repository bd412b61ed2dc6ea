package egressproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// opening is how a tunnel begins: what the guest said first, and what it has sent
// behind that already.
type opening struct {
	hello  clienthello.Hello
	first  []byte
	behind []byte
}

// maxHeld bounds what is held of a guest that does not wait for the server's answer.
const maxHeld = 64 << 10

// settled is how far a tunnel has come before it is carried as it is.
type settled struct {
	next           []byte // to be sent on
	sent, received int64  // so far
	denied         *denial
	ended          bool
}

// settle carries the beginning of a tunnel whose first message was sent on: the
// server's answer, and no byte of the guest's until it is known. Where the server asks
// for a second ClientHello (RFC 8446 4.1.4), that one is held against the first: else a
// server that goes by the second could be asked for another host.
func (g *guest) settle(server net.Conn, o opening) settled {
	s, retry := g.answered(server, o)
	if s.ended || !retry {
		return s
	}
	if err := g.conn.SetReadDeadline(time.Now().Add(g.proxy.config.Limits.HandshakeTimeout)); err != nil {
		s.ended = true
		return s
	}
	held := bytes.NewReader(s.next)
	again, seen, err := clienthello.ReadSecond(io.MultiReader(held, g.conn))
	switch {
	case err == nil:
		s.next = append(seen, s.next[len(s.next)-held.Len():]...)
		s.denied = g.differs(o, again)
	case errors.Is(err, clienthello.ErrNotTLS):
		s.denied = deny(sandbox.CodeEgressNotTLS, 0, "bytes that do not answer the server, which asked for a second ClientHello")
	case errors.Is(err, io.EOF): // it wants no more, and nothing comes behind this
		s.next = seen
	default:
		s.ended = true
	}
	s.ended = s.ended || s.denied != nil
	return s
}

// differs holds a second hello against the first.
func (g *guest) differs(o opening, again clienthello.Hello) *denial {
	wrong := g.proxy.checks.Again(o.hello, again)
	if wrong == "" {
		return nil
	}
	g.write([]byte(accessDenied)) //nolint:errcheck // it is refused, heard or not
	return deny(sandbox.CodeEgressSNIMismatch, 0, wrong)
}

// answered carries what the server says until its first message tells whether it asks
// for a second ClientHello, and holds what the guest sends meanwhile.
func (g *guest) answered(server net.Conn, o opening) (s settled, retry bool) {
	if err := g.conn.SetReadDeadline(time.Time{}); err != nil {
		return settled{ended: true}, false
	}
	var answering sync.WaitGroup
	answered := false
	answering.Go(func() {
		s.received, retry, answered = g.firstAnswer(server)
		if g.conn.SetReadDeadline(time.Unix(1, 0)) != nil { // the guest is held no longer
			answered = false
		}
	})
	held, all, err := g.hold(o.behind)
	var sent int64
	var denied *denial
	if all { // a server may wait for the end
		sent, denied = g.last(server, o, held)
		held = nil
	}
	if err != nil || denied != nil {
		server.Close()
	}
	answering.Wait()
	s.next, s.sent, s.denied, s.ended = held, sent, denied, !answered || err != nil || denied != nil
	return s, retry && !all
}

// last sends all that a guest has still sent before it ended its half, and the end. The
// server may ask for a second hello yet, so that it is one for the same host or none.
func (g *guest) last(server net.Conn, o opening, held []byte) (sent int64, d *denial) {
	if again, _, err := clienthello.ReadSecond(bytes.NewReader(held)); err == nil {
		if d := g.differs(o, again); d != nil {
			return 0, d
		}
	}
	n, err := server.Write(held)
	if half, ok := server.(interface{ CloseWrite() error }); err != nil || !ok || half.CloseWrite() != nil {
		server.Close()
	}
	return int64(n), nil
}

// firstAnswer carries the server's answer to its first message's end.
func (g *guest) firstAnswer(server net.Conn) (received int64, retry, ok bool) {
	var said clienthello.Answer
	if err := server.SetReadDeadline(time.Now().Add(g.proxy.config.Limits.IdleTimeout)); err != nil {
		return 0, false, false
	}
	read := g.proxy.reading(server)
	for {
		piece, n, err := read()
		known := false
		if n > 0 {
			if g.write(piece[:n]) != nil {
				err = net.ErrClosed
			}
			received += int64(n)
			known, retry = said.Read(piece[:n])
		}
		if piece != nil {
			g.proxy.pieces.Put(piece)
		}
		switch {
		case known && err == nil, errors.Is(err, io.EOF): // it can ask for nothing more
			return received, retry, true
		case err != nil:
			return received, false, false
		}
	}
}

// hold reads the guest until its deadline is over, or as much as may be held. It
// reports whether the guest has ended its half.
func (g *guest) hold(held []byte) (all []byte, ended bool, err error) {
	read := g.proxy.reading(g.conn)
	for len(held) < maxHeld {
		piece, n, err := read()
		if piece != nil {
			held = append(held, piece[:n]...)
			g.proxy.pieces.Put(piece)
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return held, false, nil
		case errors.Is(err, io.EOF):
			return held, true, nil
		case err != nil:
			return held, false, err
		}
	}
	return held, false, nil
}
