package explain

import (
	"maps"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// egressOf is the egress of a subject as the document has it, and whether it has
// one that says by itself what is reached. A policy without a mode does not: it
// leaves that to the policies beside it.
func (d Document) egressOf(c policy.SubjectChange) (e sandbox.Egress, stated bool) {
	if len(c.At) == 0 {
		return e, false
	}
	part, _ := c.At[0].Attr()
	switch p := d.Manifest.HostPolicy; {
	case part == sortPolicy && d.Sort == sortPolicy:
		e = d.Policy.Egress
	case part == sortPolicy:
		e = d.Manifest.Policy.Egress
	case part == "host_policy" && p != nil:
		e = p.Egress
	case part == sortWorkload:
		return d.Workload.Egress, true
	case part == "workloads":
		name, _ := c.At[len(c.At)-1].MapKey()
		return d.Manifest.Workloads[name].Egress, true
	}
	return e, e.Mode != sandbox.EgressUnspecified
}

// reach adds to a change of egress all destinations that came and went. Where a
// side is unrestricted there is no list of them.
func (s *Subject) reach(before sandbox.Egress, was bool, after sandbox.Egress, is bool) {
	if !was || !is || before.Mode == sandbox.EgressUnrestricted || after.Mode == sandbox.EgressUnrestricted {
		return
	}
	i := slices.IndexFunc(s.Changes, func(a Axis) bool { return a.Axis == axisEgress || a.Axis == axisEgressMode })
	if i < 0 {
		return
	}
	earlier, later := setOf(before), setOf(after)
	gained, err := later.Minus(earlier).Boxes()
	if err != nil {
		return // the witness stands
	}
	lost, err := earlier.Minus(later).Boxes()
	if err != nil {
		return
	}
	a := &s.Changes[i]
	a.NowReaches, a.NoLongerReaches = boxTexts(gained), boxTexts(lost)
	if len(gained)+len(lost) > 0 && a.Axis == axisEgress {
		a.text = a.Axis // the lists say the rest
	}
	if len(gained)+len(lost) > 0 && a.Axis == axisEgressMode {
		a.text = a.Axis + ": " + a.Before + " before, " + a.After + " now"
	}
}

const (
	axisEgress     = "egress"
	axisEgressMode = "egress_mode"
)

func boxTexts(boxes []egress.Box) []string {
	texts := make([]string, len(boxes))
	for i, b := range boxes {
		texts[i] = b.String()
	}
	return texts
}

// setOf is what an allowlist admits. Its document was parsed, so that every rule
// is well formed.
func setOf(e sandbox.Egress) *egress.Set {
	if e.Mode != sandbox.EgressAllowlist {
		return nil
	}
	var rules []egress.Rule
	for _, host := range e.Hosts {
		if rule, findings := egress.ParseShort(host, nil); len(findings) == 0 {
			rules = append(rules, rule)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Rules)) {
		if rule, findings := egress.ParseRule(name, e.Rules[name], nil); len(findings) == 0 {
			rules = append(rules, rule)
		}
	}
	return egress.NewSet(rules)
}
