package egressproxy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// guestBody is the body of a request as the transport reads it: streamed, counted,
// and no longer read from once the exchange is over, although the transport may
// still want to.
type guestBody struct {
	guest *guest
	body  io.ReadCloser
	left  int64

	ending atomic.Bool // nobody reads on

	leave   sync.Mutex
	expects bool // the guest waits for leave to send it

	mu     sync.Mutex
	whole  bool // it was read to its end
	failed *denial
}

func newGuestBody(g *guest, r *http.Request) *guestBody {
	b := &guestBody{guest: g, body: r.Body, left: g.proxy.config.Limits.RequestBytes}
	b.whole = r.Body == nil || r.Body == http.NoBody
	b.expects = !b.whole && strings.EqualFold(r.Header.Get("Expect"), "100-continue")
	return b
}

var errBodyOver = errors.New("the exchange is over")

// Read reads from the guest, after telling it to go on where it waits for that.
func (b *guestBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.whole:
		return 0, io.EOF
	case b.failed != nil:
		return 0, b.failed
	}
	if err := b.goOn(); err != nil {
		return 0, err
	}
	if err := b.guest.conn.SetReadDeadline(time.Now().Add(b.guest.proxy.config.Limits.IdleTimeout)); err != nil {
		return 0, err
	}
	if b.ending.Load() { // looked at after the deadline was set: see finish
		return 0, errBodyOver
	}
	n, err := b.body.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		b.failed = deny(sandbox.CodeEgressProxyLimit, http.StatusRequestEntityTooLarge, "a body that is too long")
		return 0, b.failed
	case errors.Is(err, io.EOF):
		b.whole = true
	case err != nil:
		b.failed = deny(sandbox.CodeEgressRequestMalformed, http.StatusBadRequest, "a body that breaks off or cannot be read")
		return n, b.failed
	}
	return n, err
}

// goOn tells a guest that waits for it to send the body.
func (b *guestBody) goOn() error {
	b.leave.Lock()
	defer b.leave.Unlock()
	if !b.expects {
		return nil
	}
	b.expects = false
	return b.guest.write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
}

// Close does nothing: the connection is the guest's, and [guestBody.finish] ends
// the body.
func (b *guestBody) Close() error { return nil }

// failure is why the body could not be read, if it could not.
func (b *guestBody) failure() *denial {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// answered withdraws the leave to send what the guest is still waiting to send:
// its answer comes first.
func (b *guestBody) answered() {
	b.leave.Lock()
	defer b.leave.Unlock()
	b.expects = false
}

// finish ends the body: nothing reads from the guest any more when it returns. It
// reports whether the body was read to its end, so that what follows is the next
// request.
//
// Whoever waits for the guest in Read is woken by a deadline that has passed.
// Should they set theirs after it, they see that the body is ending.
func (b *guestBody) finish() (whole bool) {
	b.ending.Store(true)
	b.guest.conn.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // a closed connection wakes them as well
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.whole && b.failed == nil {
		// The transport leaves the end unread where a length told it as much.
		n, err := b.body.Read(make([]byte, 1))
		b.whole = n == 0 && errors.Is(err, io.EOF)
	}
	return b.whole
}
