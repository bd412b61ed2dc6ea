package egressproxy

import (
	"context"
	"net/http"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// rooms are what one request has to be admitted to, all of them held to its end.
type rooms struct{ request, upload ticket }

func (r rooms) leave() {
	r.upload.leave()
	r.request.leave()
}

// smallBody is how long a body may be for which net/http takes no more memory than it
// has bytes. For any other it takes half a megabyte, where the server speaks HTTP/2.
const smallBody = 16 << 10

// room waits for a request's turn. A stream of HTTP/2 does not: its head is held
// already, and a connection has many.
func (p *Proxy) room(ctx context.Context, a asked) (r rooms, err error) {
	if r.request, err = p.turn(ctx, a, &p.gates.requests, "requests are under way"); err != nil {
		return rooms{}, err
	}
	if a.Body == nil || a.ContentLength >= 0 && a.ContentLength <= smallBody {
		return r, nil
	}
	if r.upload, err = p.turn(ctx, a, &p.gates.uploads, "bodies of requests are under way"); err != nil {
		r.leave()
		return rooms{}, err
	}
	return r, nil
}

func (p *Proxy) turn(ctx context.Context, a asked, g *gate, what string) (ticket, error) {
	if a.ProtoMajor < 2 {
		return enter(ctx, g, p.config.Limits.IdleTimeout, what)
	}
	if t, ok := g.try(); ok {
		return t, nil
	}
	return ticket{}, deny(sandbox.CodeEgressProxyLimit, http.StatusServiceUnavailable, "too many "+what+" at once")
}
