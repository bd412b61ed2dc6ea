package egressproxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// statusRulesChanged is the answer where rules ended a request.
const statusRulesChanged = http.StatusForbidden

// body is what a request's body can tell beside its bytes.
type body interface {
	io.ReadCloser
	failure() *denial
}

// exchange judges one request and carries it to its server. Either the response or
// the denial is not nil. done ends the exchange and is called in any case, after
// the response was passed on.
func (p *Proxy) exchange(ctx context.Context, in inbound, a asked) (response *http.Response, done func(), denied *denial) {
	t, denied := p.target(in, a)
	if denied != nil {
		return nil, func() {}, denied
	}
	ctx, cancel := context.WithCancelCause(ctx)
	f := &flight{request: t.request(a.Method), cut: func(d *denial) { cancel(d) }}
	if !p.flights.board(f) {
		cancel(nil)
		return nil, func() {}, deny(sandbox.CodeEgressRulesChanged, statusRulesChanged, "the proxy is closed")
	}
	watch := newWatch(p.config.Limits.IdleTimeout, cancel)
	var room rooms
	done = sync.OnceFunc(func() {
		watch.stop()
		cancel(nil)
		p.flights.land(f)
		room.leave()
	})
	rule, denied := p.admit(a, t)
	if denied != nil {
		return nil, done, denied
	}
	entered, err := p.room(ctx, a)
	if err != nil {
		return nil, done, p.failed(ctx, f.request, nil, err)
	}
	room = entered
	sent, err := outgoing(ctx, a, t, watch)
	if err != nil {
		return nil, done, malformed("a path that cannot be read").about(f.request)
	}
	response, err = p.transport.RoundTrip(sent)
	if err == nil {
		if err = unusable(response); err != nil {
			response.Body.Close()
		}
	}
	if err != nil {
		source, _ := a.Body.(body)
		return nil, done, p.failed(ctx, f.request, source, err)
	}
	p.events.allow(in.layer, rule.Name(), t.to, a.Method, t.path)
	stripHops(response.Header)
	response.Body = watched{response.Body, watch}
	return response, done, nil
}

var (
	errSwitched   = errors.New("the server changed the protocol without being asked")
	errManyFields = errors.New("the server answered with too many header lines")
)

// unusable says why a response is not passed on.
func unusable(r *http.Response) error {
	fields := 0
	for _, values := range r.Header {
		fields += len(values)
	}
	switch {
	case r.StatusCode == http.StatusSwitchingProtocols:
		return errSwitched
	case fields > responseFields:
		return errManyFields
	default:
		return nil
	}
}

func (t target) request(method string) egress.Request {
	r := t.to.connection()
	r.Method, r.Path = method, t.path
	return r
}

// admit asks everything that a request is asked.
func (p *Proxy) admit(a asked, t target) (*egress.Rule, *denial) {
	r := t.request(a.Method)
	rule, d := p.judge(r)
	if d != nil {
		return nil, d
	}
	if how := p.checks.Leaves(a.Request); how != "" {
		d = deny(sandbox.CodeEgressProtocolRefused, http.StatusForbidden, how)
	} else if p.looksInside(rule, r) {
		if name := p.checks.Overrides(a.Header); name != "" {
			d = deny(sandbox.CodeEgressHeaderRefused, http.StatusForbidden, "the header "+name)
		}
	}
	if d == nil && a.ContentLength > p.config.Limits.RequestBytes {
		d = deny(sandbox.CodeEgressProxyLimit, http.StatusRequestEntityTooLarge, "a body that is too long")
	}
	if d != nil {
		d.request, d.rule = r, rule.Name()
		return nil, d
	}
	return rule, nil
}

// failed says why an admitted request has no response.
func (p *Proxy) failed(ctx context.Context, r egress.Request, b body, err error) *denial {
	if b != nil {
		if d := b.failure(); d != nil {
			return d.about(r)
		}
	}
	for _, cause := range []error{context.Cause(ctx), err} {
		if d, ok := errors.AsType[*denial](cause); ok {
			return d.about(r)
		}
	}
	found := "the server broke off"
	var unverified *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unverified):
		found = "the server's certificate is not one for this host that the host machine trusts"
	case errors.Is(err, errSwitched), errors.Is(err, errManyFields):
		found = err.Error()
	case ctx.Err() != nil:
		found = "the guest went away"
	}
	return deny(sandbox.CodeEgressUpstreamFailed, http.StatusBadGateway, found).about(r)
}

// watch ends an exchange in which nothing moves.
type watch struct {
	timer *time.Timer
	idle  time.Duration
}

func newWatch(idle time.Duration, cancel context.CancelCauseFunc) *watch {
	return &watch{idle: idle, timer: time.AfterFunc(idle, func() {
		cancel(deny(sandbox.CodeEgressProxyLimit, http.StatusGatewayTimeout, "an exchange in which nothing moved"))
	})}
}

func (w *watch) moved() {
	if w.timer.Stop() {
		w.timer.Reset(w.idle)
	}
}

func (w *watch) stop() { w.timer.Stop() }

// watched tells the watch that something moves.
type watched struct {
	io.ReadCloser
	watch *watch
}

// Read reads on.
func (b watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.moved()
	}
	return n, err
}
