package learn

import (
	"math"
	"slices"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
)

// Bounds on what is kept of events. What goes beyond them is counted.
const (
	// maxAsks is how many different requests are kept that were let through, and as
	// many again that were not: so a flood of refusals crowds out no use of a rule.
	maxAsks = 10_000
	// maxAsksAtHost is how many of them may be about one host.
	maxAsksAtHost = 500
	// maxText bounds one of them, in bytes. The proxy's own events stay far below it.
	maxText = 2 << 10
	// maxPrograms is how many programs are told apart.
	maxPrograms = 64
)

// others is the program of requests by more programs than are told apart.
const others = "other programs"

// Tally counts events, by what was asked for. Its memory is bounded. The zero value
// is ready; it is not safe for concurrent use.
type Tally struct {
	// Only is the one workload whose events count; empty is all of them. Entries that
	// name no workload count either way.
	Only string

	events      int64
	elsewhere   int64 // events of other workloads
	decisions   counts
	undescribed counts
	lost        int64 // of the undescribed, those that nobody recorded
	first, last time.Time

	asks     map[ask]*seen
	kept     counts
	atHost   map[string]*counts
	programs map[string]bool
	// workloads are those that entries name, the first few.
	workloads []string
}

// counts are two numbers, of what was let through and what was not.
type counts struct{ allowed, denied int64 }

func (c *counts) of(allowed bool) *int64 {
	if allowed {
		return &c.allowed
	}
	return &c.denied
}

func (c *counts) add(allowed bool, n int64) {
	count := c.of(allowed)
	*count = saturated(*count, n)
}

// ask is one request as events tell it. Without a method and a path it is a
// connection as a whole.
type ask struct {
	host         string
	port         uint16
	method, path string
}

// seen is how often something was asked for.
type seen struct {
	ask
	allowed int64
	// ruled counts the refusals for want of a rule, and failed those for any other
	// reason; code is the last of those reasons.
	ruled, failed int64
	code          sandbox.Code
	change        string   // that would have admitted it, as the proxy said
	programs      []string // sorted
	first, last   time.Time
}

func (s *seen) total() int64 { return saturated(saturated(s.allowed, s.ruled), s.failed) }

// saturated adds without going round.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Add counts one entry. The end of a tunnel is no decision, and counts for nothing:
// what it was, was told when it began or request by request.
func (t *Tally) Add(e eventlog.Entry) {
	if e.End != nil {
		return
	}
	n := int64(e.Count)
	if t.Only != "" && e.Sandbox.Workload != "" && e.Sandbox.Workload != t.Only {
		t.elsewhere = saturated(t.elsewhere, 1)
		return
	}
	t.events = saturated(t.events, 1)
	t.decisions.add(e.Allowed, n)
	t.first, t.last = span(t.first, t.last, e.Time)
	t.workload(e.Sandbox.Workload)
	if e.Lost {
		t.lost = saturated(t.lost, n)
	}
	if e.Summary || e.Host == "" || len(e.Host)+len(e.Method)+len(e.Path) > maxText {
		t.undescribed.add(e.Allowed, n)
		return
	}
	s := t.at(ask{e.Host, e.Port, e.Method, e.Path}, e.Allowed)
	if s == nil {
		t.undescribed.add(e.Allowed, n)
		return
	}
	s.first, s.last = span(s.first, s.last, e.Time)
	s.program(t.program(e.Program))
	switch {
	case e.Allowed:
		s.allowed = saturated(s.allowed, n)
	case e.Code == sandbox.CodeEgressDenied:
		if s.ruled = saturated(s.ruled, n); len(e.Change) <= maxText {
			s.change = e.Change
		}
	default:
		s.failed, s.code = saturated(s.failed, n), e.Code
	}
}

// at is what is kept of a request, nil where there is no room for another.
func (t *Tally) at(a ask, allowed bool) *seen {
	if s := t.asks[a]; s != nil {
		return s
	}
	if t.asks == nil {
		t.asks, t.atHost = make(map[ask]*seen), make(map[string]*counts)
	}
	kept, here := t.kept.of(allowed), t.atHost[a.host]
	if *kept == maxAsks || here != nil && *here.of(allowed) == maxAsksAtHost {
		return nil
	}
	if here == nil {
		here = &counts{}
		t.atHost[a.host] = here
	}
	*kept++
	here.add(allowed, 1)
	s := &seen{ask: a}
	t.asks[a] = s
	return s
}

// program is the name under which a program is counted.
func (t *Tally) program(name string) string {
	switch {
	case name == "" || t.programs[name]:
		return name
	case len(t.programs) == maxPrograms || !sandbox.EchoesWhole(name):
		return others
	}
	if t.programs == nil {
		t.programs = make(map[string]bool)
	}
	t.programs[name] = true
	return name
}

func (s *seen) program(name string) {
	if name == "" {
		return
	}
	if i, ok := slices.BinarySearch(s.programs, name); !ok {
		s.programs = slices.Insert(s.programs, i, name)
	}
}

func (t *Tally) workload(name string) {
	const few = 2
	if name != "" && len(t.workloads) < few && !slices.Contains(t.workloads, name) {
		t.workloads = append(t.workloads, name)
	}
}

// Lost is how many decisions were not recorded: what they were about is in nothing
// that is read here.
func (t *Tally) Lost() int64 { return t.lost }

// Workload is the one workload whose sandboxes the events are about, empty where
// they name none or several.
func (t *Tally) Workload() string {
	if len(t.workloads) == 1 {
		return t.workloads[0]
	}
	return ""
}

// span is the time from first to last, and with at.
func span(first, last, at time.Time) (time.Time, time.Time) {
	if first.IsZero() || at.Before(first) {
		first = at
	}
	if at.After(last) {
		last = at
	}
	return first, last
}
