package egressproxy

import (
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// repeats counts denials of one code and rule beyond the first few of a window.
// Codes and rules are few, so its memory does not grow with what a guest does.
type repeats struct {
	most   int
	window time.Duration
	counts map[kind]*count
}

// kind is what denials have in common that are counted together.
type kind struct {
	code  sandbox.Code
	rule  string
	layer egress.Layer
}

// count is one kind's window.
type count struct {
	since        time.Time
	told, untold int
}

// note takes a denial. one reports whether it is told by itself; summary is what
// is to be told before it, with a Count of 0 where nothing is.
func (r *repeats) note(e *egress.Event) (summary egress.Event, one bool) {
	k := kind{e.Code, e.Rule, e.Layer}
	c := r.counts[k]
	if c == nil {
		if r.counts == nil {
			r.counts = make(map[kind]*count)
		}
		c = &count{since: e.Time}
		r.counts[k] = c
	}
	if e.Time.Sub(c.since) >= r.window {
		summary = c.summary(k, e.Time)
		*c = count{since: e.Time}
	}
	if c.told < r.most {
		c.told++
		return summary, true
	}
	c.untold++
	return summary, false
}

// take gives what was not told yet, and forgets all counts.
func (r *repeats) take(now time.Time) []egress.Event {
	var left []egress.Event
	for k, c := range r.counts {
		if s := c.summary(k, now); s.Count > 0 {
			left = append(left, s)
		}
	}
	r.counts = nil
	return left
}

func (c *count) summary(k kind, now time.Time) egress.Event {
	return egress.Event{Time: now, Code: k.code, Rule: k.rule, Layer: k.layer, Count: c.untold, Summary: true}
}
