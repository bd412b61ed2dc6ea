package egressproxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// streams serves opened connections that speak HTTP/2: net/http's server for the
// framing, and the exchange that HTTP/1.1 has for everything else.
type streams struct {
	proxy  *Proxy
	server *http.Server
	conns  handoff
	ended  chan struct{}
}

// Bounds on what one connection holds: requests under way, each with a head of at most
// HeaderBytes, and what has come of their bodies and is not yet sent on.
const (
	maxStreams       = 64
	streamReceived   = 64 << 10
	multiplexedBytes = 256 << 10
	frameBytes       = 16 << 10
)

func newStreams(p *Proxy) *streams {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	s := &streams{proxy: p, conns: newHandoff(), ended: make(chan struct{})}
	s.server = &http.Server{
		Handler: s, Protocols: protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, WriteByteTimeout: p.config.Limits.IdleTimeout,
			MaxReceiveBufferPerConnection: multiplexedBytes, MaxReceiveBufferPerStream: streamReceived, MaxReadFrameSize: frameBytes,
		},
		// OPTIONS * is a request like any other, and is judged.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            p.config.Limits.HeaderTimeout,
		IdleTimeout:                  p.config.Limits.KeepTimeout,
		MaxHeaderBytes:               p.config.Limits.HeaderBytes,
		ErrorLog:                     log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if opened, ok := conn.(*tls.Conn); ok {
				return context.WithValue(ctx, replayKey{}, opened.NetConn())
			}
			return ctx
		},
	}
	go func() {
		defer close(s.ended)
		s.server.Serve(s.conns) //nolint:errcheck // it ends when it is closed
	}()
	return s
}

type replayKey struct{}

// serve serves one connection to its end.
func (s *streams) serve(ctx context.Context, conn *tls.Conn, raw *replay) {
	if !s.conns.give(ctx, conn) {
		return
	}
	select {
	case <-raw.gone:
	case <-ctx.Done():
	}
}

func (s *streams) close(ctx context.Context) error {
	if err := s.server.Close(); err != nil {
		return fmt.Errorf("end HTTP/2 connections: %w", err)
	}
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ServeHTTP answers one stream.
func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, ok := r.Context().Value(replayKey{}).(*replay)
	if !ok || r.ProtoMajor != 2 {
		w.WriteHeader(http.StatusMisdirectedRequest)
		return
	}
	if r.Header["Host"] != nil {
		s.refuse(w, malformed("a Host header beside the authority").at(raw.in.tunnel))
		return
	}
	limited := &streamBody{ReadCloser: r.Body, left: s.proxy.config.Limits.RequestBytes}
	r.Body = limited
	response, done, denied := s.proxy.exchange(r.Context(), raw.in, asked{Request: r, host: r.Host, hasHost: true})
	defer done()
	if denied != nil {
		s.refuse(w, denied)
		return
	}
	defer response.Body.Close()
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	if bodiless(r.Method, response.StatusCode) {
		return
	}
	switch err := s.stream(w, response.Body); {
	case errors.Is(err, errCutShort) && r.Context().Err() == nil:
		// What was sent must not pass for the whole: only the end of the connection
		// says so without a panic.
		raw.Close() //nolint:errcheck // nothing more is said on it
		return
	case err != nil:
		return // the guest wants no more of it
	}
	for name, values := range response.Trailer {
		w.Header()[http.TrailerPrefix+name] = values
	}
}

func (s *streams) refuse(w http.ResponseWriter, d *denial) {
	s.proxy.pace.wait(s.proxy.base)
	s.proxy.events.deny(egress.LayerOpened, d)
	maps.Copy(w.Header(), d.header())
	w.WriteHeader(d.status)
	w.Write(d.body()) //nolint:errcheck // it is refused, heard or not
}

// stream passes each piece on as it comes.
func (s *streams) stream(w http.ResponseWriter, body io.Reader) error {
	control := http.NewResponseController(w)
	if err := control.Flush(); err != nil {
		return err
	}
	piece := s.proxy.takePiece()
	defer s.proxy.pieces.Put(piece)
	buf := piece[:]
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if err := control.Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errCutShort
		}
	}
}

// streamBody counts the body of a request.
type streamBody struct {
	io.ReadCloser
	left   int64
	failed atomic.Pointer[denial]
}

// Read reads on, within the limit.
func (b *streamBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		d := deny(sandbox.CodeEgressProxyLimit, http.StatusRequestEntityTooLarge, "a body that is too long")
		b.failed.Store(d)
		return 0, d
	}
	return n, err
}

func (b *streamBody) failure() *denial { return b.failed.Load() }

// handoff is a listener of connections that came in elsewhere.
type handoff struct {
	conns  chan net.Conn
	closed <-chan struct{}
	end    context.CancelFunc
}

func newHandoff() handoff {
	ctx, cancel := context.WithCancel(context.Background())
	return handoff{conns: make(chan net.Conn), closed: ctx.Done(), end: cancel}
}

func (h handoff) give(ctx context.Context, conn net.Conn) bool {
	select {
	case h.conns <- conn:
		return true
	case <-h.closed:
	case <-ctx.Done():
	}
	return false
}

// Accept gives the next connection.
func (h handoff) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the handoff.
func (h handoff) Close() error {
	h.end()
	return nil
}

// Addr is the address of no network.
func (h handoff) Addr() net.Addr { return &net.UnixAddr{Net: "handoff"} }
