package egressproxy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Observer is told of decisions, one at a time and in order. It may be slow: then
// events are dropped and counted, and no guest waits for it.
type Observer interface {
	Observe(Event)
}

// Event is one decision, or a number of equal denials that were not told one by
// one. What guests wrote stands in it as it can be printed. It never holds a
// query, a header or a body.
type Event struct {
	Time    time.Time
	Allowed bool
	// Code is why it was refused, and Found what was found, in our words.
	Code  sandbox.Code
	Found string
	// Rule is the name of the rule that admitted it or came nearest. It is the only
	// field that is fit for a metric's label.
	Rule string
	// Layer is what was judged.
	Layer Layer
	// Host, Port, Method and Path are what was asked for, as far as it could be read
	// and the layer shows it. Change is the smallest addition that would admit it.
	Host   string
	Port   uint16
	Method string
	Path   string
	Change string
	// Count is how many decisions the event stands for. Where Summary is set they are
	// of one code and rule, and what was asked for is left out.
	Count   int
	Summary bool
}

// Layer is what a decision was about.
type Layer string

// The layers.
const (
	LayerConnection Layer = "connection" // a tunnel, as a whole
	LayerRequest    Layer = "request"    // a request without TLS
	LayerOpened     Layer = "opened"     // a request inside TLS that was opened
)

// Stats count since the proxy was made.
type Stats struct {
	Allowed, Denied uint64
	// Dropped is how many decisions the observer was too slow for.
	Dropped uint64
}

// events carries decisions to the observer.
type events struct {
	observer Observer
	clock    func() time.Time
	queue    chan Event
	done     chan struct{}

	allowed, denied, dropped atomic.Uint64

	mu     sync.Mutex
	closed bool
	repeat repeats
}

func newEvents(observer Observer, clock func() time.Time, l Limits) *events {
	e := &events{observer: observer, clock: clock, done: make(chan struct{}), repeat: repeats{most: l.DenialsPerRule, window: l.DenialWindow}}
	if observer == nil {
		close(e.done)
		return e
	}
	e.queue = make(chan Event, l.Events)
	go func() {
		defer close(e.done)
		for event := range e.queue {
			observer.Observe(event)
		}
	}()
	return e
}

// allow tells of a request that was admitted.
func (e *events) allow(layer Layer, rule string, d destination, method, path string) {
	e.allowed.Add(1)
	if e.observer == nil {
		return
	}
	event := Event{
		Time: e.clock(), Allowed: true, Rule: rule, Layer: layer, Count: 1,
		Host: d.host(), Port: d.port, Method: bounded(method), Path: bounded(path),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tell(event)
}

// deny tells of a request that was not.
func (e *events) deny(layer Layer, d *denial) {
	e.denied.Add(1)
	if e.observer == nil {
		return
	}
	event := Event{
		Time: e.clock(), Code: d.code, Found: d.found, Rule: d.rule, Layer: layer, Count: 1,
		Host: d.host, Port: d.request.Port, Method: bounded(d.request.Method), Path: bounded(d.request.Path), Change: d.change,
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

// tell queues an event; e.mu is held.
func (e *events) tell(event Event) {
	if e.closed {
		return
	}
	select {
	case e.queue <- event:
	default:
		e.dropped.Add(uint64(event.Count))
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
