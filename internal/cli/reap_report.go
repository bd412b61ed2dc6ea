package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/operate"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// end prints what came out otherwise than was told meanwhile, the sum, and what was
// kept and why.
func (r *reapReport) end() error {
	if r.app.format == "json" {
		return r.app.printJSON(r.document())
	}
	for _, one := range r.removals {
		if told, ok := r.told[one.ID]; !ok || told != one.Outcome {
			r.tell(one)
		}
	}
	out := r.app.out
	if r.survey.Count(operate.Old) > 0 {
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, plaintext.Value(r.sum()))
	if kept := r.kept(); kept != "" {
		page := show.NewPage(0, 0)
		page.Row("", kept)
		fmt.Fprint(out, page.String())
	}
	return nil
}

// sum counts how the removals ended.
func (r *reapReport) sum() string {
	old := r.survey.Count(operate.Old)
	switch {
	case old == 0:
		return "nothing is that old"
	case r.dryRun:
		return show.Plural(old, "sandbox") + " would be deleted"
	}
	counts := map[operate.Outcome]int{}
	for _, one := range r.removals {
		counts[one.Outcome]++
	}
	var parts []string
	for _, outcome := range []operate.Outcome{operate.Gone, operate.Asked, operate.Refused, operate.NotBegun} {
		if n := counts[outcome]; n > 0 {
			parts = append(parts, show.Count(int64(n))+" "+outcomeWords[outcome])
		}
	}
	return "of " + show.Plural(old, "sandbox") + ": " + strings.Join(parts, ", ")
}

// kept says what stays and why.
func (r *reapReport) kept() string {
	var parts []string
	if n := r.survey.Count(operate.Young); n > 0 {
		parts = append(parts, show.Count(int64(n))+" younger")
	}
	if n := r.survey.Count(operate.Foreign); n > 0 {
		parts = append(parts, show.Count(int64(n))+" that something else made")
	}
	if unaged := r.survey.Of(operate.Unaged); len(unaged) > 0 {
		var ids []string
		for _, c := range unaged {
			ids = append(ids, c.ID)
		}
		parts = append(parts, show.Count(int64(len(unaged)))+" of unknown age: "+together(ids))
	}
	if len(parts) == 0 {
		return ""
	}
	return "kept: " + strings.Join(parts, ", ")
}

// reapDocument is the whole as JSON.
type reapDocument struct {
	target

	ServiceTime string         `json:"service_time"`
	Ahead       int64          `json:"clock_ahead_seconds"`
	OlderThan   int64          `json:"older_than_seconds"`
	DryRun      bool           `json:"dry_run"`
	Sandboxes   []reapedRow    `json:"sandboxes"`
	Counts      map[string]int `json:"counts"`
}

// reapedRow is one sandbox that was to go, or that was kept though it is not young.
type reapedRow struct {
	ID        string       `json:"id"`
	State     string       `json:"state"`
	CreatedAt string       `json:"created_at,omitempty"`
	Labels    wire.Labels  `json:"labels"`
	Outcome   string       `json:"outcome"`
	Code      sandbox.Code `json:"code,omitempty"`
}

// The outcomes in JSON. Those of what was kept say why.
var outcomeNames = map[operate.Outcome]string{
	operate.NotBegun: "not_begun", operate.Asked: "not_seen_gone", operate.Refused: "not_deleted", operate.Gone: "gone",
}

func (r *reapReport) document() reapDocument {
	d := reapDocument{
		target: r.of.target(), ServiceTime: r.survey.At.UTC().Format(time.RFC3339), Ahead: int64(r.survey.Ahead / time.Second),
		OlderThan: int64(r.olderThan / time.Second), DryRun: r.dryRun, Sandboxes: []reapedRow{}, Counts: map[string]int{},
	}
	became := map[string]operate.Removal{}
	for _, one := range r.removals {
		became[one.ID] = one
	}
	for _, c := range r.survey.All {
		row := reapedRow{ID: c.ID, State: c.State, Labels: c.Labels}
		if !c.Created.IsZero() {
			row.CreatedAt = c.Created.Format(time.RFC3339)
		}
		switch one := became[c.ID]; c.Standing {
		case operate.Young:
			d.Counts["kept_younger"]++
			continue
		case operate.Foreign:
			row.Outcome = "kept_not_ours"
		case operate.Old:
			row.Outcome = outcomeNames[one.Outcome]
			if r.dryRun {
				row.Outcome = "would_delete"
			}
			if why := sandbox.RefusalOf(one.Err); why != nil {
				row.Code = why.Code
			}
		default:
			row.Outcome = "kept_unknown_age"
		}
		d.Counts[row.Outcome]++
		d.Sandboxes = append(d.Sandboxes, row)
	}
	return d
}
