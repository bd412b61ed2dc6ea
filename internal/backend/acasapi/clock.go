package acasapi

import (
	"context"
	"math/rand/v2"
	"time"
)

// Clock is the time that retries and polls wait by.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the context's error before it.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the one of a [Config] that names none.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// pace is the wait before each of several tries: first, doubled each time up to
// most, with a quarter of jitter to either side so that clients that failed together
// do not return together.
type pace struct {
	first, most time.Duration
	jitter      func() float64
}

func (p pace) wait(try int) time.Duration {
	d := p.most
	if shift := try - 1; shift < 16 && p.first<<shift < p.most {
		d = p.first << shift
	}
	return time.Duration(float64(d) * (0.75 + p.jitter()/2))
}

func systemJitter() float64 { return rand.Float64() } //nolint:gosec // it spreads requests and hides nothing
