package egressproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"time"
)

// write writes to the guest, which has as long to take it as an idle connection
// has.
func (g *guest) write(p []byte) error {
	if err := g.conn.SetWriteDeadline(time.Now().Add(g.proxy.config.Limits.IdleTimeout)); err != nil {
		return err
	}
	_, err := g.conn.Write(p)
	return err
}

// Write is write, for a buffer in front of it.
func (g *guest) Write(p []byte) (int, error) {
	if err := g.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// responses is where responses are written: most tunnels have none.
func (g *guest) responses() *bufio.Writer {
	if g.writer == nil {
		g.writer = bufio.NewWriter(g)
	}
	return g.writer
}

// writeDenial answers with the denial and says that the connection ends.
func (g *guest) writeDenial(d *denial) {
	body := d.body()
	h := d.header()
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Connection", "close")
	w := g.responses()
	// Clients that are refused a tunnel show nothing but this line, Go's only its text.
	writeHead(w, d.status, http.StatusText(d.status)+": "+string(d.code), h)
	fmt.Fprintf(w, "%s", body)
	w.Flush() //nolint:errcheck // the guest is gone, and was refused
}

// writeHead writes a head. Whether it could is told by w's Flush.
func writeHead(w *bufio.Writer, status int, reason string, h http.Header) {
	fmt.Fprintf(w, "HTTP/1.1 %d %s\r\n", status, reason)
	h.Write(w) //nolint:errcheck // Flush tells
	fmt.Fprint(w, "\r\n")
}

// errCutShort is returned where a server ended before what it had announced.
var errCutShort = errors.New("the server ended before its response")

// respond writes a server's response. The head is ours, made of the server's
// headers; the body goes through as it comes. An error means that the connection
// is at no message's end.
func (g *guest) respond(r *http.Response, request *http.Request, keep bool) error {
	defer r.Body.Close()
	empty := bodiless(request.Method, r.StatusCode)
	chunked := !empty && r.ContentLength < 0 && request.ProtoAtLeast(1, 1)
	h := r.Header
	switch {
	case chunked:
		h.Del("Content-Length")
		h.Set("Transfer-Encoding", "chunked")
	case !empty && r.ContentLength >= 0:
		h.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10)) //nolint:gosec // never beside the other one
	}
	if !keep {
		h.Set("Connection", "close")
	}
	w := g.responses()
	writeHead(w, r.StatusCode, http.StatusText(r.StatusCode), h)
	if empty {
		return w.Flush()
	}
	piece := g.proxy.takePiece()
	defer g.proxy.pieces.Put(piece)
	switch {
	case chunked:
		return streamChunks(w, r.Body, piece[:])
	case r.ContentLength != 0:
		return streamLength(w, r.Body, max(r.ContentLength, -1), piece[:])
	default:
		return w.Flush()
	}
}

// bodiless reports a response that has no body whatever its headers say.
func bodiless(method string, status int) bool {
	return method == http.MethodHead || status == http.StatusNoContent || status == http.StatusNotModified
}

// streamBuffer is how much of a body is under way at once.
const streamBuffer = 64 << 10

func (p *Proxy) takePiece() *[streamBuffer]byte {
	piece, ok := p.pieces.Get().(*[streamBuffer]byte)
	if !ok {
		piece = new([streamBuffer]byte)
	}
	return piece
}

// streamChunks passes each piece on as it comes, so that a stream of events
// reaches the guest event by event.
func streamChunks(w *bufio.Writer, body io.Reader, buf []byte) error {
	if err := w.Flush(); err != nil { // the head tells that the stream has begun
		return err
	}
	chunks := httputil.NewChunkedWriter(w)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			chunks.Write(buf[:n]) //nolint:errcheck // Flush tells
			if err := w.Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			chunks.Close()
			fmt.Fprint(w, "\r\n")
			return w.Flush()
		case err != nil:
			return errors.Join(errCutShort, w.Flush())
		}
	}
}

// streamLength passes a body of a known length on; of -1, whatever comes.
func streamLength(w *bufio.Writer, body io.Reader, length int64, buf []byte) error {
	for sent := int64(0); ; {
		n, err := body.Read(buf)
		if n > 0 {
			sent += int64(n)
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil || w.Buffered() > 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && (sent == length || length < 0):
			return nil
		case err != nil:
			return errCutShort
		}
	}
}
