package egressproxy

import (
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// missed is what the queue to the observer had no room for. Its memory does not grow
// with what a guest does: decisions are counted, and what is kept whole is the
// proxy's own end.
type missed struct {
	refused, allowed int
	last             time.Time
	end              *egress.Event
}

// note counts an event that there was no room for. An end of a tunnel is no decision.
func (m *missed) note(e egress.Event) {
	if e.Allowed {
		m.allowed += e.Count
	} else {
		m.refused += e.Count
	}
	m.last = e.Time
}

// pass gives what was missed to whoever takes it, until it does not any more.
func (m *missed) pass(take func(egress.Event) bool) {
	for _, of := range []struct {
		allowed bool
		count   *int
	}{{false, &m.refused}, {true, &m.allowed}} {
		if *of.count == 0 {
			continue
		}
		if !take(egress.Event{Time: m.last, Allowed: of.allowed, Layer: egress.LayerConnection, Count: *of.count, Summary: true, Lost: true}) {
			return
		}
		*of.count = 0
	}
	if m.end != nil && take(*m.end) {
		m.end = nil
	}
}

// offer queues an event where there is room; e.mu is held.
func (e *events) offer(event egress.Event) bool {
	if e.closed {
		return false
	}
	select {
	case e.queue <- event:
		return true
	default:
		return false
	}
}

// tell queues an event, behind what was missed before it; e.mu is held.
func (e *events) tell(event egress.Event) {
	if e.closed {
		return
	}
	e.missed.pass(e.offer)
	if !e.offer(event) {
		e.dropped.Add(uint64(max(event.Count, 1))) // an end counts for none
		e.missed.note(event)
	}
}

// proxyLost tells that the proxy has ended by itself. The observer hears of it as
// soon as it takes events again, whether the proxy can be closed or not.
func (e *events) proxyLost() {
	if e.observer == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missed.end = &egress.Event{
		Time: e.clock(), Code: sandbox.CodeEgressProxyLost, Found: "its socket broke", Layer: egress.LayerConnection, Count: 1,
	}
	e.missed.pass(e.offer)
}

// carry tells the observer everything. It tells what was missed once nothing waits
// any more, so that an observer that has caught up knows even if nothing else happens.
func (e *events) carry() {
	defer close(e.done)
	for event := range e.queue {
		e.observer.Observe(event)
		if len(e.queue) == 0 {
			e.catchUp()
		}
	}
	e.catchUp()
}

func (e *events) catchUp() {
	var left []egress.Event
	e.mu.Lock()
	e.missed.pass(func(event egress.Event) bool {
		left = append(left, event)
		return true
	})
	e.mu.Unlock()
	for _, event := range left {
		e.observer.Observe(event)
	}
}
