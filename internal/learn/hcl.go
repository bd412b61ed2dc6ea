package learn

import (
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/explain"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// hcl is the egress of a sandbox_workload: attributes to be put in the place of those
// that it has. Who asked, how often and when stands in comments, and so does what the
// workload has and nobody asked for.
func (p *Proposal) hcl() string {
	var b strings.Builder
	b.WriteString(comment(p.Events.text() + " What they do not show is not in it."))
	b.WriteString("egress_mode = " + egress.HCLString(p.Mode.String()) + "\n")
	p.attribute(&b, "egress_hosts", "[", "]", func(r Rule) (string, bool) { return egress.HCLString(r.Rule.Host) + ",", r.Key == "" })
	p.attribute(&b, "egress_rules", "{", "}", func(r Rule) (string, bool) { return explain.RuleHCL(r.Key, r.Rule), r.Key != "" })
	return string(hclwrite.Format([]byte(b.String())))
}

// attribute writes one of the two attributes, with the rules that element takes.
func (p *Proposal) attribute(b *strings.Builder, name, opening, closing string, element func(Rule) (string, bool)) {
	var inner strings.Builder
	rules := 0
	for _, g := range p.Groups {
		headed := false
		for _, r := range g.Rules {
			text, ok := element(r)
			if !ok {
				continue
			}
			if !headed && len(g.Programs) > 0 {
				inner.WriteString(comment("asked for by " + programs(g.Programs)))
			}
			headed = true
			rules++
			inner.WriteString(comment(r.text()))
			for _, why := range r.Check {
				inner.WriteString(comment("CHECK: " + why))
			}
			inner.WriteString(text + "\n")
		}
	}
	for _, u := range p.Unused[:min(len(p.Unused), maxUnused)] {
		if text, ok := element(Rule{Key: u.key, Rule: u.full}); ok {
			inner.WriteString(comment("not in it, since " + u.Why + ": " + text))
		}
	}
	switch {
	case rules > 0:
		b.WriteString("\n" + name + " = " + opening + "\n" + inner.String() + closing + "\n")
	case inner.Len() > 0:
		b.WriteString("\n" + inner.String())
	}
}

// comment is one line that nothing in it can end.
func comment(text string) string { return "# " + plaintext.Value(text) + "\n" }

// text says how often, and when.
func (r *Rule) text() string {
	text := r.Count.text()
	if !r.New {
		text = "ruled already: " + text
	}
	return text
}

func (c Count) text() string {
	var parts []string
	if c.Refused > 0 {
		parts = append(parts, "refused "+show.Times(c.Refused))
	}
	if c.Allowed > 0 {
		parts = append(parts, "let through "+show.Times(c.Allowed))
	}
	return strings.Join(parts, " and ") + ", " + between(c.First, c.Last)
}

// between says when, to the second.
func between(first, last time.Time) string {
	a, b := first.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339)
	if a == b {
		return "at " + a
	}
	return "first " + a + ", last " + b
}

// text says what the events are.
func (e Events) text() string {
	if e.Read == 0 {
		return "There are no events, so there is nothing to learn: leave the rules as they are."
	}
	return "Learnt from " + events(e.Read) + ", " + between(e.First, e.Last) + ": " + show.Count(e.Allowed) + " let through, " +
		show.Count(e.Refused) + " refused."
}

func events(n int64) string {
	if n == 1 {
		return "1 event"
	}
	return show.Count(n) + " events"
}

// maxNamed is how many programs are named in one line.
const maxNamed = 8

// programs are names that guests chose.
func programs(names []string) string {
	more := ""
	if len(names) > maxNamed {
		names, more = names[:maxNamed], " and "+itoa(len(names)-maxNamed)+" more"
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = name
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+/-") != "" && name != others {
			shown[i] = sandbox.Echo(name)
		}
	}
	return strings.Join(shown, ", ") + more
}
