package operate

import (
	"context"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Criteria say which sandboxes are to go.
type Criteria struct {
	// OlderThan is how long ago the service must have made a sandbox, at the least.
	OlderThan time.Duration
	// Labels must all be carried.
	Labels wire.Labels
	// AllOwners takes sandboxes without our marker too.
	AllOwners bool
}

// Standing is what the criteria say of one sandbox. The zero value keeps it.
type Standing uint8

// Only what is Old goes.
const (
	// Unaged: it does not say when it was made.
	Unaged Standing = iota
	// Young: it was made more recently.
	Young
	// Foreign: it is old, and nothing of ours made it.
	Foreign
	// Old: it goes.
	Old
)

// Candidate is a sandbox and what was said of it.
type Candidate struct {
	ID, State string
	Labels    wire.Labels
	// Created is zero, and Age with it, for one that is [Unaged].
	Created  time.Time
	Age      time.Duration
	Standing Standing
}

// Survey is what a group holds, by the criteria, in the order of the service.
type Survey struct {
	All []Candidate
	// At is the service's clock, by which ages are counted, and Ahead how far it is
	// ahead of this machine's.
	At    time.Time
	Ahead time.Duration
}

// Count is how many candidates stand so.
func (s Survey) Count(standing Standing) int { return len(s.Of(standing)) }

// Of are the candidates that stand so.
func (s Survey) Of(standing Standing) []Candidate {
	var of []Candidate
	for _, c := range s.All {
		if c.Standing == standing {
			of = append(of, c)
		}
	}
	return of
}

// Ours reports whether something of ours made what carries the labels.
func Ours(labels wire.Labels) bool { return labels[acasapi.MarkerLabel] != "" }

// Look lists the group and judges everything in it. It fails rather than guess: a
// group that is not there has no sandboxes that could be called gone, and without the
// service's own time nothing has an age.
func Look(ctx context.Context, g *acasapi.Group, c Criteria) (Survey, error) {
	var listed []wire.Sandbox
	for doc, err := range g.Sandboxes(ctx, c.Labels) {
		if err != nil {
			return Survey{}, err
		}
		listed = append(listed, wire.Sandbox{ID: doc.ID, State: doc.State, Labels: doc.Labels, CreatedAt: doc.CreatedAt})
	}
	at, own := g.ServiceTime()
	if at.IsZero() {
		return Survey{}, &sandbox.Refusal{Finding: sandbox.Finding{
			Code: sandbox.CodeServiceAnswerInvalid, Subject: "sandbox group " + sandbox.Echo(g.ID().Name),
			Found: "a list without the header Date", Required: "the service's own time, by which ages are counted",
			Remedy: "look whether a proxy on the way removes the header",
		}}
	}
	s := Survey{At: at, Ahead: at.Sub(own).Round(time.Second)}
	for _, doc := range listed {
		s.All = append(s.All, c.judge(doc, at))
	}
	return s, nil
}

func (c Criteria) judge(doc wire.Sandbox, at time.Time) Candidate {
	found := Candidate{ID: doc.ID, State: doc.State, Labels: doc.Labels}
	created, ok := Created(doc)
	if !ok {
		return found
	}
	found.Created, found.Age = created, max(at.Sub(created), 0)
	switch {
	case found.Age < c.OlderThan:
		found.Standing = Young
	case !c.AllOwners && !Ours(doc.Labels):
		found.Standing = Foreign
	default:
		found.Standing = Old
	}
	return found
}

// before the service there were no sandboxes: an earlier time is a field that was
// never filled in, year one or 1970, and no age.
func before() time.Time { return time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Created is when the service says it made a sandbox, and whether it says so.
func Created(doc wire.Sandbox) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, doc.CreatedAt)
	if err != nil || at.Before(before()) {
		return time.Time{}, false
	}
	return at.UTC(), true
}
