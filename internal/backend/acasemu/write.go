package acasemu

import (
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// write sends an answer with what the service sends along with every one.
func (e *Emulator) write(w http.ResponseWriter, c *call, a answer) {
	header := w.Header()
	maps.Copy(header, a.header)
	header.Set("x-ms-request-id", c.id)
	if id := c.request.Header.Get("x-ms-client-request-id"); id != "" {
		header.Set("x-ms-client-request-id", id)
	}
	if c.plane == wire.Data {
		header.Set("mise-correlation-id", c.trace[3:35])
	}
	// Its own clock, by which what it made is dated: clients count ages by it.
	header.Set("Date", c.now.Format(http.TimeFormat))
	if a.stream != nil {
		e.writeStream(w, c, a)
		return
	}
	body, kind, err := a.encoded()
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if c.fault.Truncate && strings.Contains(kind, "json") {
		body = body[:max(1, len(body)/2)]
	}
	if c.fault.ContentType != "" && len(body) > 0 {
		kind = c.fault.ContentType
	}
	if kind != "" {
		header.Set("Content-Type", kind)
	}
	if bodyless := a.status == http.StatusNoContent || a.status == http.StatusNotModified; !bodyless {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(a.status)
	if c.fault.Drop == "mid" {
		_, _ = w.Write(body[:len(body)/2])
		abortAnswer(w)
		return
	}
	// A client that went away cannot be told.
	_, _ = w.Write(body)
}

func (a *answer) encoded() (body []byte, kind string, err error) {
	switch {
	case a.doc != nil:
		body, err = wire.Encode(a.doc)
		kind = jsonType
	case a.raw != nil:
		body, kind = a.raw, octetType
	}
	if a.kind != "" {
		kind = a.kind
	}
	return body, kind, err
}

func (e *Emulator) writeStream(w http.ResponseWriter, c *call, a answer) {
	defer a.stream.Close()
	header := w.Header()
	header.Set("Content-Type", octetType)
	header.Set("Content-Disposition", "attachment")
	if c.fault.ContentType != "" {
		header.Set("Content-Type", c.fault.ContentType)
	}
	if a.size >= 0 {
		header.Set("Content-Length", strconv.FormatInt(a.size, 10))
	}
	w.WriteHeader(a.status)
	from, most := io.Reader(a.stream), a.size
	if c.fault.Drop == "mid" {
		from, most = io.LimitReader(a.stream, a.size/2), a.size/2
	}
	sent, err := io.Copy(w, from)
	if err != nil || c.fault.Drop == "mid" || (most >= 0 && sent != most) {
		abortAnswer(w) // a file that ended early must not pass for a whole one
	}
}

// abortAnswer breaks the connection off behind what was written of an answer.
func abortAnswer(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // a connection that is gone needs no breaking
	abort(w)
}

// abort breaks the connection off, so that the client cannot take what it has for
// an answer.
func abort(w http.ResponseWriter) {
	if local, ok := w.(interface{ Abort() }); ok {
		local.Abort()
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	raw := conn
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok {
		raw = secured.NetConn()
	}
	// Without the farewell of TLS: a client must not read this as an end.
	raw.Close()
}
