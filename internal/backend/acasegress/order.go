package acasegress

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"

// order holds what rules do in the order in which they are asked, and makes of it
// the most and the least that is let out.
//
// Rules are ordered, and the first that matches answers. Of host rules nothing is
// documented: a denial among them, and one of either kind against an allowance of the
// other, may go first or not.
type order struct {
	rules      []step
	hostAllows []matched
	hostDenies []matched
	others     []egress.Region // more that may be let out
	allows     int
	denials    bool
}

// step is one of the ordered rules.
type step struct {
	of matched
	// lets: it lets out what it matches; otherwise it denies it, or does with it what
	// cannot be told.
	lets bool
	// certain: what it matches is not let out by any rule after it. A star may cover
	// less than it does here, so that a denial with one is not.
	certain bool
}

func (o *order) allow(m matched) {
	o.allows++
	o.rules = append(o.rules, step{of: m, lets: true})
}

func (o *order) deny(m matched) {
	o.denials = true
	o.rules = append(o.rules, step{of: m, certain: m.exact && !m.rule.Host().IsWildcard()})
}

// changes is a rule that lets something out, to wherever to has it, but not as it was
// asked.
func (o *order) changes(m, to matched) {
	o.allows++
	o.denials = true
	o.rules = append(o.rules, step{of: m})
	to.exact = false
	o.hostAllows = append(o.hostAllows, to)
}

func (o *order) allowHost(m matched) {
	o.allows++
	o.hostAllows = append(o.hostAllows, m)
}

func (o *order) denyHost(m matched) {
	o.denials = true
	o.hostDenies = append(o.hostDenies, m)
}

func (o *order) also(r egress.Region) {
	o.denials = true
	o.others = append(o.others, r)
}

// plain reports whether everything is an allowance, so that no order matters.
func (o *order) plain() bool { return !o.denials }

// openMost reports whether requests to any host may be let out.
func (o *order) openMost() bool {
	for _, m := range o.hostAllows {
		if m.any {
			return true
		}
	}
	for _, s := range o.rules {
		if s.of.any {
			if s.lets || s.certain {
				return s.lets
			}
		}
	}
	return false
}

// all is every rule that lets something out, as a set.
func (o *order) all() *egress.Set {
	var rules []egress.Rule
	for _, s := range o.rules {
		if s.lets && !s.of.any {
			rules = append(rules, s.of.rule)
		}
	}
	return egress.NewSet(append(rules, rulesOf(o.hostAllows, false)...))
}

// rulesOf are the rules of what does not match every host; with exact alone those
// that are not some of it.
func rulesOf(all []matched, exact bool) []egress.Rule {
	var rules []egress.Rule
	for _, m := range all {
		if !m.any && (m.exact || !exact) {
			rules = append(rules, m.rule)
		}
	}
	return rules
}

// maxTurns bounds how often the ordered rules may turn from letting out to denying
// and back.
const maxTurns = 256

// turns is how often they do.
func (o *order) turns() int {
	n := 0
	for i := 1; i < len(o.rules); i++ {
		if o.rules[i].lets != o.rules[i-1].lets {
			n++
		}
	}
	return n
}

// regions are the most and the least that is let out, without what is let out to
// every host.
func (o *order) regions() (most, least egress.Region) {
	most = o.answered(false).Union(egress.NewSet(rulesOf(o.hostAllows, false)).Region())
	for _, other := range o.others {
		most = most.Union(other)
	}
	var denials []matched
	for _, s := range o.rules {
		if !s.lets {
			denials = append(denials, s.of)
		}
	}
	hosts := without(egress.NewSet(rulesOf(o.hostAllows, true)).Region(), denials)
	return most, without(o.answered(true).Union(hosts), o.hostDenies)
}

// without takes away all that denials may match.
func without(r egress.Region, denials []matched) egress.Region {
	if len(denials) == 0 {
		return r
	}
	for _, m := range denials {
		if m.any {
			return egress.Region{}
		}
	}
	return r.Minus(egress.NewSet(rulesOf(denials, false)).Region())
}

// answered is what the ordered rules let out, from the last to the first: certain is
// the least of it. Neighbours that do the same are one set.
func (o *order) answered(certain bool) egress.Region {
	var region egress.Region
	for end := len(o.rules); end > 0; {
		start := end
		for start > 0 && o.rules[start-1].lets == o.rules[end-1].lets {
			start--
		}
		region = apply(region, o.rules[start:end], certain)
		end = start
	}
	return region
}

// apply puts neighbours that do the same before what the rules after them let out.
func apply(after egress.Region, neighbours []step, certain bool) egress.Region {
	var those []matched
	lets := neighbours[0].lets
	for _, s := range neighbours {
		if lets || certain || s.certain {
			those = append(those, s.of)
		}
	}
	if lets {
		return after.Union(egress.NewSet(rulesOf(those, certain)).Region())
	}
	return without(after, those)
}
