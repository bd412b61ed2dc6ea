package learn

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Bounds on what is proposed and told. A person reads it.
const (
	// maxDeclined is how many destinations are listed that are not offered, and
	// maxUnused how many rules of the workload that nothing needed.
	maxDeclined, maxUnused = 50, 50
)

// Proposal is what events would have an allowlist say.
type Proposal struct {
	Events Events `json:"events"`
	// Mode is closed where nothing is left to allow, and left out where there was
	// nothing to learn from.
	Mode sandbox.EgressMode `json:"egress_mode,omitzero"`
	// Groups are the rules by the programs that need them, those that are needed most
	// first. Together they admit every request that was seen and could be admitted,
	// and without any one of them one of those would be refused.
	Groups []Group `json:"groups"`
	// HCL is the egress of the workload as it would read.
	HCL string `json:"hcl"`
	// Unused are rules of the workload that are not in the proposal.
	Unused []Unused `json:"unused"`
	// NotOffered are destinations that were asked for and are in no rule, and
	// NotListed is how many more there are.
	NotOffered []NotOffered `json:"not_offered"`
	NotListed  int          `json:"not_listed,omitzero"`
	// Suggestions are patterns in place of several rules.
	Suggestions []Suggestion `json:"suggestions"`
	// Outcome is what the workload would be, where it is known.
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Events are how many there were.
type Events struct {
	// Read is how many entries were counted, and Elsewhere how many were of other
	// workloads.
	Read      int64 `json:"read"`
	Elsewhere int64 `json:"elsewhere,omitzero"`
	// Allowed and Refused are the decisions that they stand for, and the other two how
	// many of those say nothing of what was asked for, or of more than is kept.
	Allowed            int64 `json:"allowed"`
	Refused            int64 `json:"refused"`
	AllowedUndescribed int64 `json:"allowed_undescribed,omitzero"`
	RefusedUndescribed int64 `json:"refused_undescribed,omitzero"`
	// Lost is how many of those that say nothing were not recorded at all.
	Lost  int64     `json:"lost,omitzero"`
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// Group is the rules that the same programs need.
type Group struct {
	// Programs is empty where it is not known who asked.
	Programs []string `json:"programs"`
	Rules    []Rule   `json:"rules"`
}

// Rule is one rule of the proposal.
type Rule struct {
	// Key is its name in egress_rules; it is empty for one of egress_hosts.
	Key  string             `json:"key,omitempty"`
	Rule sandbox.EgressRule `json:"rule"`
	// New: the workload does not have it.
	New bool `json:"new"`
	Count
	// Check are reasons to look twice.
	Check []string `json:"check,omitempty"`

	programs []string
}

// Count is how often something was asked for, and when.
type Count struct {
	Allowed int64     `json:"allowed"`
	Refused int64     `json:"refused"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
}

func countOf(s stats) Count { return Count{s.allowed, s.refused, s.first, s.last} }

func (c Count) total() int64 { return saturated(c.Allowed, c.Refused) }

// Unused is a rule that is not in the proposal, and why.
type Unused struct {
	Path string `json:"path"`
	Rule string `json:"rule"`
	Why  string `json:"why"`

	host string
	key  string
	full sandbox.EgressRule
}

// NotOffered is a destination that is in no rule, and why.
type NotOffered struct {
	// Request reads "api.example.com:443 (GET /v1)", or is the guest's own text, quoted,
	// where that is no host.
	Request string `json:"request"`
	Why     string `json:"why"`
	// More is how many other requests to the host are not offered for that reason.
	More int `json:"more,omitzero"`
	Count
	Programs []string `json:"programs,omitempty"`
}

// Propose makes the proposal. From no events there is none: that nobody was heard to ask
// is no reason to close anything. Without a place there is no workload to start from:
// what was let through is then learnt from the events alone.
func Propose(t *Tally, at *Place) (Proposal, error) {
	if t.events == 0 {
		p := Proposal{Events: t.counted(), Groups: []Group{}, Unused: []Unused{}, NotOffered: []NotOffered{}, Suggestions: []Suggestion{}}
		p.HCL = comment(p.Events.text())
		return p, nil
	}
	could, not := t.sorted()
	if at != nil {
		could, not = at.withoutNever(could, not)
	}
	present := at.present()
	var candidates []*wanted
	for _, w := range could {
		if len(w.admittedBy(present.set)) == 0 {
			candidates = append(candidates, w)
		}
	}
	candidates, beyond := mostWanted(candidates)
	not = append(not, beyond...)
	rules := build(candidates)
	present.use(could, not, rules)

	p := Proposal{Events: t.counted(), Mode: sandbox.EgressClosed, Groups: []Group{}, Suggestions: []Suggestion{}}
	all := present.keptRules()
	all = append(all, present.named(rules)...)
	mark(all)
	p.Groups = grouped(all)
	if len(all) > 0 {
		p.Mode = sandbox.EgressAllowlist
	}
	p.Unused = present.unused()
	p.NotOffered, p.NotListed = listed(not)
	p.Suggestions = suggest(all)
	p.HCL = p.hcl()
	if at == nil {
		return p, nil
	}
	outcome, err := at.outcome(p)
	p.Outcome = &outcome
	return p, err
}

func (t *Tally) counted() Events {
	return Events{
		Read: t.events, Elsewhere: t.elsewhere, Allowed: t.decisions.allowed, Refused: t.decisions.denied,
		AllowedUndescribed: t.undescribed.allowed, RefusedUndescribed: t.undescribed.denied,
		Lost: t.lost, First: t.first, Last: t.last,
	}
}

// grouped puts rules together by the programs that need them.
func grouped(rules []Rule) []Group {
	byPrograms := make(map[string]*Group)
	for _, r := range rules {
		key := strings.Join(r.programs, "\x00")
		if byPrograms[key] == nil {
			byPrograms[key] = &Group{Programs: slices.Concat([]string{}, r.programs)}
		}
		byPrograms[key].Rules = append(byPrograms[key].Rules, r)
	}
	groups := make([]Group, 0, len(byPrograms))
	for _, g := range byPrograms {
		slices.SortStableFunc(g.Rules, func(a, b Rule) int {
			return cmp.Or(cmp.Compare(b.total(), a.total()), strings.Compare(a.Rule.Host, b.Rule.Host), strings.Compare(a.Key, b.Key))
		})
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.total(), a.total()), slices.Compare(a.Programs, b.Programs))
	})
	return groups
}

func (g Group) total() (n int64) {
	for _, r := range g.Rules {
		n = saturated(n, r.total())
	}
	return n
}

// listed are the destinations that are not offered, one line for a host and a reason.
func listed(all []declined) (list []NotOffered, more int) {
	type line struct{ host, why string }
	at := make(map[line]int)
	list = []NotOffered{}
	var counted []stats
	for _, d := range all {
		host := d.text
		if d.request != (egress.Request{}) {
			host = egress.Witness{Host: d.request.Host, Addr: d.request.Addr, Port: d.request.Port}.String()
		}
		i, ok := at[line{host, d.why}]
		if !ok {
			i = len(list)
			at[line{host, d.why}] = i
			list, counted = append(list, NotOffered{Request: d.text, Why: d.why, More: -1}), append(counted, stats{})
		}
		list[i].More++
		counted[i].add(d.stats)
	}
	for i := range list {
		list[i].Count, list[i].Programs = countOf(counted[i]), counted[i].programs
	}
	slices.SortStableFunc(list, func(a, b NotOffered) int { return cmp.Compare(b.total(), a.total()) })
	shown := min(len(list), maxDeclined)
	return list[:shown], len(list) - shown
}
