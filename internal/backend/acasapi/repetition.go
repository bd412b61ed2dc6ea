package acasapi

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	// maxAttempts is how often a request is sent for failures of the service.
	// Waiting for a role is bounded by time instead.
	maxAttempts = 6
	// maxWait is the longest a single Retry-After is waited for.
	maxWait = 3 * time.Minute
)

// repetition decides whether one request is sent again. What makes or runs
// something is not, except after a 403: that answer comes before anything is done,
// and is what a role that has not arrived yet looks like, with or without a body.
type repetition struct {
	safe   bool // sending twice leaves what sending once leaves
	able   bool // the body can be sent twice
	clock  Clock
	pace   pace
	failed int
	// mayHaveRun says that some attempt ended without an answer that it did not.
	mayHaveRun bool
	roleUntil  time.Time
}

func (p *plane) newRepetition(c call) *repetition {
	cfg := p.client.cfg
	return &repetition{
		safe:      c.op.Operation().Repeat == wire.RepeatSafe,
		able:      c.upload == nil || c.upload.seekable(),
		clock:     cfg.Clock,
		pace:      pace{first: 800 * time.Millisecond, most: 20 * time.Second, jitter: cfg.Jitter},
		roleUntil: cfg.Clock.Now().Add(cfg.RoleWait),
	}
}

// next says how long to wait before the request is sent again, or that it is not.
func (r *repetition) next(ctx context.Context, attempt int, e *Error) (wait time.Duration, again bool) {
	wait = r.pace.wait(attempt)
	if e.RetryAfter > 0 {
		wait = e.RetryAfter
	}
	if e.outcome == mayHaveRun {
		r.mayHaveRun = true
	}
	now := r.clock.Now()
	switch {
	case !r.able:
	case e.Status == http.StatusForbidden:
		if left := r.roleUntil.Sub(now); e.RetryAfter == 0 && wait > left {
			wait = left // one last look when the time is up
		}
		again = wait > 0 && !now.Add(wait).After(r.roleUntil)
	case r.safe:
		r.failed++
		again = r.failed < attemptsFor(e) && passing(e)
	}
	// Waiting past the caller's deadline would only hide this answer behind it.
	deadline, bounded := ctx.Deadline()
	if !again || wait > maxWait || (bounded && now.Add(wait).After(deadline)) {
		return 0, false
	}
	return wait, true
}

// final reports a failure of which azcore says that asking again does not help: a
// sign-in that failed, whichever credential it is.
func final(err error) bool {
	_, is := errors.AsType[interface {
		error
		NonRetriable()
	}](err)
	return is
}

// attemptsFor is how often a request is sent. Nothing on this machine that refused a
// connection twice is about to begin to listen.
func attemptsFor(e *Error) int {
	if e.loopback && errors.Is(e.Err, syscall.ECONNREFUSED) {
		return 2
	}
	return maxAttempts
}

// passing reports a failure that may be over the next time.
func passing(e *Error) bool {
	if e.Code == wire.EmulatorState {
		return false
	}
	switch e.Status {
	case 0:
		return !untrusted(e.Err) && sandbox.RefusalOf(e.Err) == nil && !final(e.Err)
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		// An answer that broke off or came mangled.
		return succeeded(e.Status) && e.Class != sandbox.CodeServiceTooLarge
	}
}
