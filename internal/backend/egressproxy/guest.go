package egressproxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// inbound is how a request came in: by the socket, or inside a tunnel that was
// opened.
type inbound struct {
	layer  egress.Layer
	tunnel destination // of an opened one
}

func (in inbound) opened() bool { return in.layer == egress.LayerOpened }

// guest is one connection that speaks HTTP/1.1: the socket's, or the inside of an
// opened tunnel.
type guest struct {
	proxy  *Proxy
	conn   net.Conn
	reader *bufio.Reader
	writer *bufio.Writer // of responses, once there is one
	in     inbound
}

// guest serves one connection of the socket.
func (p *Proxy) guest(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	p.serveHTTP1(ctx, conn, inbound{layer: egress.LayerRequest})
}

func (p *Proxy) serveHTTP1(ctx context.Context, conn net.Conn, in inbound) {
	g := &guest{proxy: p, conn: conn, in: in}
	g.takeReader()
	defer g.giveReader()
	for first := true; ; first = false {
		asked, err := g.read(first)
		switch denied, ok := errors.AsType[*denial](err); {
		case ok:
			g.refuse(denied, nil)
			g.linger() // who knows what it was sending
			return
		case err != nil:
			return
		case asked.Method == http.MethodConnect && !in.opened():
			g.connect(ctx, asked)
			return
		case !g.answer(ctx, asked):
			return
		}
	}
}

func (g *guest) takeReader() {
	reader, ok := g.proxy.heads.Get().(*bufio.Reader)
	if !ok {
		reader = bufio.NewReaderSize(nil, g.proxy.config.Limits.HeaderBytes)
	}
	reader.Reset(g.conn)
	g.reader = reader
}

// giveReader gives the reader back. A tunnel does so early: it needs none.
func (g *guest) giveReader() {
	if g.reader != nil {
		g.reader.Reset(nil)
		g.proxy.heads.Put(g.reader)
		g.reader = nil
	}
}

// asked is a request with the Host header that it was sent with, which net/http
// drops where the target is absolute.
type asked struct {
	*http.Request
	host    string
	hasHost bool
}

// read reads one request head. What is wrong with it is a [*denial]; any other
// error means that the guest is gone or had nothing to say.
func (g *guest) read(first bool) (asked, error) {
	limits := &g.proxy.config.Limits
	wait := limits.KeepTimeout
	if first {
		wait = limits.HeaderTimeout
	}
	if err := g.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return asked{}, err
	}
	if _, err := g.reader.Peek(1); err != nil {
		return asked{}, err
	}
	if err := g.conn.SetReadDeadline(time.Now().Add(limits.HeaderTimeout)); err != nil {
		return asked{}, err
	}
	head, err := g.head()
	if err != nil {
		return asked{}, err
	}
	if flaw := g.proxy.checks.Head(head); flaw != httphead.FlawNone {
		return asked{}, deny(sandbox.CodeEgressRequestMalformed, http.StatusBadRequest, flaw.String())
	}
	var a asked
	a.host, a.hasHost = httphead.Host(head)
	a.Request, err = http.ReadRequest(g.reader)
	if err != nil {
		return asked{}, deny(sandbox.CodeEgressRequestMalformed, http.StatusBadRequest, "a target or a header that cannot be read")
	}
	return a, nil
}

// head waits until a whole head is buffered, and shows it.
func (g *guest) head() ([]byte, error) {
	const overlap = len("\r\n\r\n") - 1
	for looked := 0; ; {
		buffered, err := g.reader.Peek(g.reader.Buffered())
		if err != nil {
			return nil, err
		}
		from := max(looked-overlap, 0)
		if n := httphead.End(buffered[from:]); n > 0 {
			return buffered[:from+n], nil
		}
		looked = len(buffered)
		if looked == g.reader.Size() {
			return nil, deny(sandbox.CodeEgressProxyLimit, http.StatusRequestHeaderFieldsTooLarge, "a head that is too large")
		}
		switch _, err := g.reader.Peek(looked + 1); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, deny(sandbox.CodeEgressProxyLimit, http.StatusRequestTimeout, "a head that took too long")
		case err != nil:
			return nil, err
		}
	}
}

// answer carries one request to its server and the response back. It reports
// whether the connection can take another.
func (g *guest) answer(ctx context.Context, a asked) bool {
	body := newGuestBody(g, a.Request)
	a.Body = body
	response, done, denied := g.proxy.exchange(ctx, g.in, a)
	defer done()
	body.answered()
	if denied != nil {
		g.refuse(denied, body)
		return false
	}
	keep := !a.Close && a.ProtoAtLeast(1, 1)
	err := g.respond(response, a.Request, keep)
	whole := body.finish()
	return err == nil && keep && whole
}

// refuse tells the guest and the observer, and ends the connection.
func (g *guest) refuse(d *denial, body *guestBody) {
	g.proxy.pace.wait(g.proxy.base)
	g.proxy.events.deny(g.in.layer, d)
	g.writeDenial(d)
	if body != nil && !body.finish() {
		g.linger()
	}
}

// Bounds on what is read from a guest that is still sending what nobody wants, so
// that it gets to read why.
const (
	lingerTime  = 250 * time.Millisecond
	lingerBytes = 256 << 10
)

func (g *guest) linger() {
	half, ok := g.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if g.conn.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		io.CopyN(io.Discard, g.conn, lingerBytes) //nolint:errcheck // whatever came, it is over
	}
}
