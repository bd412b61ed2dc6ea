package learn

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/explain"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	// column and wideColumn are how wide labels are.
	column, wideColumn = 10, 13
	// maxReplaced is how many hosts or paths are named that a pattern stands for, and
	// maxReasons how many reasons.
	maxReplaced, maxReasons = 6, 8
)

// Notes is what a person has to know beside the HCL, empty where that is all.
func (p *Proposal) Notes() string {
	return p.Events.notes() + p.notOffered() + p.suggested() + p.left() + p.Outcome.text()
}

// notes say what the events leave open.
func (e Events) notes() string {
	page := show.NewPage(0, column)
	if e.RefusedUndescribed > 0 {
		page.Row("note", show.Count(e.RefusedUndescribed)+" of "+show.Count(e.Refused)+
			" refusals are not described: they were told in sums, without what was asked for, or are beyond what is kept")
	}
	if e.AllowedUndescribed > 0 {
		page.Row("note", show.Count(e.AllowedUndescribed)+" of "+show.Count(e.Allowed)+" requests that were let through are not described")
	}
	if e.Lost > 0 {
		page.Row("note", LostText(e.Lost)+": the list may lack something")
	}
	if e.Elsewhere > 0 {
		page.Row("note", events(e.Elsewhere)+" of other workloads were left out")
	}
	return page.String()
}

// LostText says how many decisions were not recorded, and why that can be.
func LostText(n int64) string {
	decisions := show.Count(n) + " decisions were"
	if n == 1 {
		decisions = "1 decision was"
	}
	return decisions + " not recorded, since the log was full or could not be written fast enough"
}

func (p *Proposal) notOffered() string {
	if len(p.NotOffered) == 0 {
		return ""
	}
	page := show.NewPage(0, 0)
	page.Gap()
	page.Line("not offered:")
	all := page.String()
	for _, n := range p.NotOffered {
		text := n.Request
		if n.More > 0 {
			text += " and " + show.Count(int64(n.More)) + " more"
		}
		if len(n.Programs) > 0 {
			text += ", asked for by " + programs(n.Programs)
		}
		all += item(text+", "+n.Count.text(), n.Why)
	}
	if p.NotListed > 0 {
		all += item(strings.TrimSpace(show.More(p.NotListed)), "")
	}
	return all
}

// item is one thing and, further in, what is to be said of it.
func item(text, of string) string {
	head, below := show.NewPage(2, 0), show.NewPage(4, 0)
	head.Row("", text)
	below.Row("", of)
	return head.String() + below.String()
}

func (p *Proposal) suggested() string {
	if len(p.Suggestions) == 0 {
		return ""
	}
	page := show.NewPage(0, 0)
	page.Gap()
	page.Line("a pattern could stand for several; each opens more than was asked for:")
	text := page.String()
	for _, s := range p.Suggestions {
		line := show.NewPage(2, 0)
		line.Line(s.HCL)
		rows := show.NewPage(4, wideColumn)
		rows.Row("in place of", some(s.Replaces))
		rows.Row("opens too", s.Opens)
		text += line.String() + rows.String()
	}
	return text
}

func some(texts []string) string {
	if len(texts) <= maxReplaced {
		return strings.Join(texts, ", ")
	}
	return strings.Join(texts[:maxReplaced], ", ") + show.More(len(texts)-maxReplaced)
}

// left are the rules of the workload that are not in the proposal.
func (p *Proposal) left() string {
	if len(p.Unused) == 0 {
		return ""
	}
	page := show.NewPage(0, 0)
	page.Gap()
	page.Line("ruled, and not in the list; events show what happened while they were kept, and nothing else:")
	text := page.String()
	for i, u := range p.Unused {
		if i == maxUnused {
			text += item(strings.TrimSpace(show.More(len(p.Unused)-i)), "")
			break
		}
		text += item(u.Path+": "+u.Rule, u.Why)
	}
	return text
}

func (o *Outcome) text() string {
	if o == nil {
		return ""
	}
	page := show.NewPage(0, 0)
	page.Gap()
	word := "is admitted"
	if o.Verdict != sandbox.Allow {
		word = "is refused"
	}
	page.Line("with it, workload " + sandbox.Echo(o.Workload) + " " + word)
	rows := show.NewPage(2, column-2)
	rows.List("since", o.Refused, maxReasons)
	text := page.String() + rows.String()
	for i, e := range o.Edits {
		text += edited(e, i == 0)
	}
	then := show.NewPage(2, column-2)
	switch {
	case len(o.Edits) > 0 && len(o.Afterwards) == 0:
		then.Row("then", "it is admitted")
	default:
		then.List("then", o.Afterwards, maxReasons)
	}
	return text + then.String() + "\n" + o.Difference.Text()
}

func edited(e explain.Edit, first bool) string {
	head := show.NewPage(2, 0)
	if first {
		head.Line("to admit it, in " + e.Where)
	} else {
		head.Line("and in " + e.Where)
	}
	lines := show.NewPage(4, 0)
	for _, line := range e.HCL {
		lines.Line(line)
	}
	return head.String() + lines.String()
}
