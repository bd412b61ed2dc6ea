package explain

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
)

// Text is the answer for people.
func (a Answer) Text() string {
	page := show.NewPage(0, 0)
	page.Line(a.Request)
	text := page.String() + a.Event.text()
	for _, w := range a.Workloads {
		text += "\n" + w.text()
	}
	return text
}

func (w WorkloadAnswer) text() string {
	head := show.NewPage(0, 0)
	word := "refused"
	if w.Allowed {
		word = "allowed"
	}
	head.Line(word + "  " + policy.WorkloadSubject(w.Workload))
	text := head.String()
	page := show.NewPage(2, 8)
	for _, l := range w.Layers {
		verb := "refuses"
		if l.Allows {
			verb = "allows"
		}
		page.Row(verb, l.Source+": "+l.Why)
		for _, r := range l.Never {
			page.Row("", r.Path+": "+r.Rule)
		}
		for _, r := range l.By {
			page.Row("", r.Path+": "+r.Rule)
		}
		if l.Hint != "" {
			page.Row("", "near: "+l.Hint)
		}
	}
	page.List("but", because("the workload itself is refused: ", w.Refused), maxNamed)
	if !w.Allowed && len(w.Edits) > 0 {
		page.List("so", w.refusing(), 1)
	}
	page.List("so", because("no edit of rules allows it; the workload would then be refused: ", w.Afterwards), maxNamed)
	text += page.String()
	for i, e := range w.Edits {
		text += e.text(w.Allowed, i == 0)
	}
	return text
}

// refusing says that the workload's own edit is not enough, where policies refuse.
func (w WorkloadAnswer) refusing() []string {
	var sources []string
	for _, l := range w.Layers[:len(w.Layers)-1] {
		if !l.Allows {
			sources = append(sources, l.Source)
		}
	}
	switch len(sources) {
	case 0:
		return nil
	case 1:
		return []string{"no edit of the workload alone allows it: " + sources[0] + " refuses it"}
	default:
		return []string{"no edit of the workload alone allows it: " + strings.Join(sources, " and ") + " refuse it"}
	}
}

// because puts words before the first of several reasons.
func because(words string, reasons []string) []string {
	texts := slices.Clone(reasons)
	if len(texts) > 0 {
		texts[0] = words + texts[0]
	}
	return texts
}

func (e Edit) text(refuses, first bool) string {
	page := show.NewPage(2, 0)
	switch {
	case !first:
		page.Line("and in " + e.Where)
	case refuses:
		page.Line("to refuse it, in " + e.Where)
	default:
		page.Line("to allow it, in " + e.Where)
	}
	inner := show.NewPage(4, 0)
	for _, r := range e.Remove {
		inner.Line("remove " + r.Path + ": " + r.Rule)
	}
	for _, r := range e.Change {
		inner.Line("change " + r.Path + ": " + r.Rule)
	}
	for _, line := range e.HCL {
		inner.Line(line)
	}
	return page.String() + inner.String()
}
