package egressproxy

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Stats count since the proxy was made.
type Stats struct {
	Allowed, Denied uint64
	// Dropped is how many decisions and ends of tunnels the observer was too slow for.
	// It is told itself how many decisions it has missed.
	Dropped uint64
}

// events carries decisions to the observer.
type events struct {
	observer egress.Observer
	clock    func() time.Time
	queue    chan egress.Event
	done     chan struct{}

	allowed, denied, dropped atomic.Uint64

	mu     sync.Mutex
	closed bool
	repeat repeats
	missed missed
}

func newEvents(observer egress.Observer, clock func() time.Time, l Limits) *events {
	e := &events{observer: observer, clock: clock, done: make(chan struct{}), repeat: repeats{most: l.DenialsPerRule, window: l.DenialWindow}}
	if observer == nil {
		close(e.done)
		return e
	}
	e.queue = make(chan egress.Event, l.Events)
	go e.carry()
	return e
}

// allow tells of a request that was admitted.
func (e *events) allow(layer egress.Layer, rule string, d destination, method, path string) {
	e.allowed.Add(1)
	if e.observer == nil {
		return
	}
	event := egress.Event{
		Time: e.clock(), Allowed: true, Rule: rule, Layer: layer, Count: 1,
		Host: d.host(), Port: d.port, Method: bounded(method), Path: wholePath(path),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tell(event)
}

// longestPath is how long a path can be that a rule names, in bytes.
const longestPath = 1024

// wholePath is a path as it was judged where a rule could name it, so that who reads
// the event can judge it again; any other is bounded.
func wholePath(path string) string {
	if len(path) <= longestPath && strconv.QuoteToGraphic(path) == `"`+path+`"` {
		return path
	}
	return bounded(path)
}

// passage is a tunnel that began and has ended.
type passage struct {
	layer          egress.Layer
	rule           string // none where it was opened: its requests had one each
	began          time.Time
	sent, received int64
}

// end tells that a tunnel has ended.
func (e *events) end(d destination, p passage) {
	if e.observer == nil {
		return
	}
	now := e.clock()
	event := egress.Event{
		Time: now, Allowed: true, Rule: p.rule, Layer: p.layer, Host: d.host(), Port: d.port,
		End: &egress.End{Sent: p.sent, Received: p.received, Duration: now.Sub(p.began)},
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tell(event)
}

// deny tells of a request that was not.
func (e *events) deny(layer egress.Layer, d *denial) {
	e.denied.Add(1)
	if e.observer == nil {
		return
	}
	event := egress.Event{
		Time: e.clock(), Code: d.code, Found: d.found, Rule: d.rule, Layer: layer, Count: 1,
		Host: d.host, Port: d.request.Port, Method: bounded(d.request.Method), Path: wholePath(d.request.Path), Change: d.change,
	}
	if to := (destination{d.request.Host, d.request.Addr, d.request.Port}); to.port != 0 {
		event.Host = to.host()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	summary, one := e.repeat.note(&event)
	if summary.Count > 0 {
		e.tell(summary)
	}
	if one {
		e.tell(event)
	}
}

// flush tells of what was only counted so far.
func (e *events) flush() {
	if e.observer == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, summary := range e.repeat.take(e.clock()) {
		e.tell(summary)
	}
}

// close waits until the observer was told everything, or ctx ends.
func (e *events) close(ctx context.Context) error {
	e.flush()
	e.mu.Lock()
	if !e.closed && e.queue != nil {
		close(e.queue)
	}
	e.closed = true
	e.mu.Unlock()
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *events) stats() Stats {
	return Stats{Allowed: e.allowed.Load(), Denied: e.denied.Load(), Dropped: e.dropped.Load()}
}
