package learn

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/explain"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// present is the allowlist that a workload has, and what becomes of it.
type present struct {
	rules []presentRule
	set   *egress.Set
}

// presentRule is one rule of it, as it is written.
type presentRule struct {
	path sandbox.FieldPath
	key  string // empty in egress_hosts
	rule sandbox.EgressRule
	// used: some request came by it. spare: all of those are let through by others.
	used, spare bool
	stats       stats
}

// present reads the workload's allowlist. There is none without a place, and none
// where another mode makes its rules mean nothing.
func (p *Place) present() *present {
	list := &present{set: egress.NewSet(nil)}
	if p == nil || p.spec().Egress.Mode != sandbox.EgressAllowlist {
		return list
	}
	e := p.spec().Egress
	var parsed []egress.Rule
	for i, host := range e.Hosts {
		rule := sandbox.EgressRule{Host: host, Ports: []string{"443"}, Methods: anything, Paths: anything}
		list.rules = append(list.rules, presentRule{path: sandbox.Path("egress_hosts", i), rule: rule})
	}
	for _, key := range slices.Sorted(maps.Keys(e.Rules)) {
		list.rules = append(list.rules, presentRule{path: sandbox.Path("egress_rules", sandbox.MapKey(key)), key: key, rule: e.Rules[key]})
	}
	for _, r := range list.rules {
		rule, findings := egress.ParseRule("", r.rule, nil)
		if len(findings) > 0 {
			rule = egress.Rule{}
		}
		parsed = append(parsed, rule)
	}
	list.set = egress.NewSet(parsed)
	return list
}

// use notes which rules let through what was seen, and which of them nothing would
// miss beside the new ones: wide ones are the first to go.
func (l *present) use(could []*wanted, not []declined, rules []learnt) {
	added := make([]sandbox.EgressRule, len(rules))
	for i, r := range rules {
		added[i] = r.rule
	}
	beside := setOf(added)
	var ways [][]int // for each request, the rules that admit it
	for _, w := range could {
		by := w.admittedBy(l.set)
		for _, i := range by {
			l.rules[i].used = true
			l.rules[i].stats.add(w.stats)
		}
		if len(by) > 0 && len(w.admittedBy(beside)) == 0 {
			ways = append(ways, by)
		}
	}
	for _, d := range not { // such as one whose server could not be reached
		if by := l.set.MatchAll(d.request); len(by) > 0 {
			ways = append(ways, by)
			for _, i := range by {
				l.rules[i].used = true
				l.rules[i].stats.add(d.stats)
			}
		}
	}
	l.spare(ways)
}

// spare finds the rules that can go, one after the other.
func (l *present) spare(ways [][]int) {
	left := make([]int, len(ways))
	of := make([][]int, len(l.rules))
	for n, by := range ways {
		left[n] = len(by)
		for _, i := range by {
			of[i] = append(of[i], n)
		}
	}
	order := make([]int, len(l.rules))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(l.width(b), l.width(a)), cmp.Compare(b, a)) })
	for _, i := range order {
		r := &l.rules[i]
		if !r.used || slices.ContainsFunc(of[i], func(n int) bool { return left[n] == 1 }) {
			continue
		}
		r.spare = true
		for _, n := range of[i] {
			left[n]--
		}
	}
}

// width is 1 for a pattern of several hosts.
func (l *present) width(i int) int {
	host := l.set.Rule(i).Host()
	if host.IsWildcard() || host.IsAddress() && !host.Prefix().IsSingleIP() {
		return 1
	}
	return 0
}

// keptRules are the rules that stay, as they are written.
func (l *present) keptRules() []Rule {
	var kept []Rule
	for _, r := range l.rules {
		if r.used && !r.spare {
			kept = append(kept, Rule{Key: r.key, Rule: r.rule, Count: countOf(r.stats), programs: r.stats.programs})
		}
	}
	return kept
}

// named gives new rules keys that the workload does not have.
func (l *present) named(rules []learnt) []Rule {
	taken := make(map[string]sandbox.EgressRule)
	for _, r := range l.rules {
		taken[r.key] = r.rule
	}
	keys := explain.NewKeys(taken)
	named := make([]Rule, len(rules))
	for i, r := range rules {
		named[i] = Rule{Rule: r.rule, New: true, Count: countOf(r.stats), programs: r.stats.programs}
		if !short(r.rule) {
			named[i].Key = keys.For(r.rule.Host)
		}
	}
	return named
}

// unused are the rules that do not stay.
func (l *present) unused() []Unused {
	list := []Unused{}
	for i, r := range l.rules {
		u := Unused{Path: r.path.String(), Rule: l.set.Rule(i).String(), Why: "nothing asked for it", host: r.rule.Host, key: r.key, full: r.rule}
		switch {
		case r.spare:
			u.Why = "the other rules let through all that came by it"
		case r.used:
			continue
		}
		list = append(list, u)
	}
	return list
}

func itoa(n int) string { return strconv.Itoa(n) }
