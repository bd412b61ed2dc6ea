package policy

import (
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// PlacedRule is a rule and where it stands, below its policy or workload.
type PlacedRule struct {
	Rule egress.Rule
	Path sandbox.FieldPath
}

// Opinion is what one policy or one workload says of one request, and by what.
type Opinion struct {
	// Source is the policy's; it is empty for a workload.
	Source  string
	Verdict sandbox.Verdict
	// Mode is its egress mode, closed where a workload states none. A policy
	// without a mode has none and leaves the answer to the others, but for the last
	// policy where none has one: that is closed.
	Mode sandbox.EgressMode
	// By are the rules that admit the request. A request may be refused in spite of
	// them: by Never, or because it is Blocked.
	By []PlacedRule
	// Never are the entries of never_reaches that rule the request out.
	Never []PlacedRule
	// Blocked says why the destination is refused when dialled under an allowlist,
	// whatever the rules say; it is empty where it is not.
	Blocked string
	// Near are the rules about the request's host, where none admits it: the first
	// few of many.
	Near []PlacedRule
	// Rules is how many rules there are, and Hint what is near the request among
	// them, where none admits it.
	Rules int
	Hint  string
}

// Opinions are what the policies in force say of a request, in their order. The
// least verdict among them is what [CompiledPolicy.Admits] answers. Without a
// policy there is none, and nothing is admitted.
func (p *CompiledPolicy) Opinions(r egress.Request) []Opinion {
	opinions := make([]Opinion, len(p.layers))
	for i := range p.layers {
		l := &p.layers[i]
		o := l.egress.opinion(r)
		o.Source, o.Verdict = l.Source, l.admits(r)
		if !p.bounded && !p.modeOpen && i == len(p.layers)-1 {
			o.Mode, o.Verdict = sandbox.EgressClosed, sandbox.Deny
		}
		o.Never = l.ruledOut(r)
		opinions[i] = o
	}
	return opinions
}

// Opinion is what the workload says of a request. Its verdict is what
// [CompiledSpec.Admits] answers.
func (s *CompiledSpec) Opinion(r egress.Request) Opinion {
	o := s.egress.opinion(r)
	o.Verdict = s.Admits(r)
	return o
}

func (c *compiledEgress) opinion(r egress.Request) Opinion {
	o := Opinion{Mode: c.mode, Rules: len(c.rules), Blocked: blockedBecause(r)}
	for _, i := range c.set.MatchAll(r) {
		o.By = append(o.By, PlacedRule{c.rules[i], c.paths[i]})
	}
	if len(o.By) > 0 {
		return o
	}
	o.Hint = c.set.Hint(r)
	for _, i := range c.set.AtHost(r) {
		if len(o.Near) == maxExcess {
			break
		}
		o.Near = append(o.Near, PlacedRule{c.rules[i], c.paths[i]})
	}
	return o
}

// ruledOut are the entries of never_reaches that have the request. They are called
// as they are written.
func (l *compiledLayer) ruledOut(r egress.Request) []PlacedRule {
	var found []PlacedRule
	for _, i := range l.neverReach.MatchAll(r) {
		rule := l.neverReach.Rule(i)
		place := slices.Index(l.Policy.NeverReaches, rule.Name())
		found = append(found, PlacedRule{rule, at("never_reaches").Append(sandbox.Index(place))})
	}
	return found
}
