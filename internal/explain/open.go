package explain

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// turn is a manifest in which every policy and the workload admit a request, and
// the edits that make it so.
type turn struct {
	manifest manifest.Manifest
	// policies numbers how the policies are edited, alike for every workload; they
	// are as they were when it is negative.
	policies int
	edits    []Edit
}

const asTheyWere = -1

// turns yields ways to admit a request, the smallest first: of each policy and the
// workload that refuse it, one way to open it. None of them is tried here.
func turns(m manifest.Manifest, name string, r egress.Request, opinions []policy.Opinion) iter.Seq[turn] {
	layers := m.Layers()
	inPolicies := make([][]way, len(layers))
	most := 1
	for i, o := range opinions[:len(layers)] {
		inPolicies[i] = waysOf(layers[i].Policy.Egress, layers[i].Policy.NeverReaches, r, o)
		most = max(most, len(inPolicies[i]))
	}
	inWorkload := waysOf(m.Workloads[name].Egress, nil, r, opinions[len(layers)])
	return func(yield func(turn) bool) {
		for sum := range most + len(inWorkload) - 1 {
			for p := range min(sum, most-1) + 1 {
				if w := sum - p; w < len(inWorkload) && !yield(turned(m, name, inPolicies, p, inWorkload[w])) {
					return
				}
			}
		}
	}
}

// turned takes the p-th way of each policy, the last where there are fewer.
func turned(m manifest.Manifest, name string, inPolicies [][]way, p int, inWorkload way) turn {
	t := turn{manifest: m, policies: asTheyWere}
	for i, ways := range inPolicies {
		w := ways[min(p, len(ways)-1)]
		if w.edit == nil {
			continue
		}
		t.edits, t.policies = append(t.edits, *w.edit), p
		edited := &t.manifest.Policy
		if i < len(inPolicies)-1 {
			imposed := *m.HostPolicy
			t.manifest.HostPolicy, edited = &imposed, &imposed
		}
		edited.Egress, edited.NeverReaches = w.egress, w.never
	}
	if inWorkload.edit != nil {
		t.edits = append(t.edits, *inWorkload.edit)
		spec := m.Workloads[name]
		spec.Egress = inWorkload.egress
		t.manifest.Workloads = maps.Clone(m.Workloads)
		t.manifest.Workloads[name] = spec
	}
	return t
}

// way is one way to edit one policy or workload. Without an edit nothing is to be
// done.
type way struct {
	edit   *Edit
	egress sandbox.Egress
	never  []string
}

// waysOf are the ways to make one policy or workload admit a request, the smallest
// first; at least one.
func waysOf(e sandbox.Egress, never []string, r egress.Request, o policy.Opinion) []way {
	if o.Verdict == sandbox.Allow {
		return []way{{egress: e, never: never}}
	}
	base := Edit{Where: o.Source}
	base.permit(&never, o)
	if o.Mode != sandbox.EgressClosed && (o.Mode != sandbox.EgressAllowlist || len(o.By) > 0) {
		return []way{{&base, e, never}}
	}
	if e.Mode != sandbox.EgressAllowlist {
		e.Mode = sandbox.EgressAllowlist
		base.HCL = append(base.HCL, `egress_mode = "allowlist"`)
	}
	var ways []way
	add := func(edit Edit, e sandbox.Egress) {
		if !slices.ContainsFunc(ways, func(w way) bool { return slices.Equal(w.edit.HCL, edit.HCL) }) {
			ways = append(ways, way{&edit, e, never})
		}
	}
	narrow := egress.AdditionFor(r).Rule
	anyPath, anyRequest := narrow, narrow
	anyPath.Paths = any1
	anyRequest.Methods, anyRequest.Paths = any1, any1
	if edit, extended, ok := base.extended(e, r, o, true); ok {
		add(edit, extended)
	}
	add(base.added(e, narrow))
	if edit, extended, ok := base.extended(e, r, o, false); ok {
		add(edit, extended)
	}
	add(base.added(e, anyPath))
	add(base.added(e, anyRequest))
	return ways
}

// clone is a copy that shares no lines with the edit.
func (e Edit) clone() Edit {
	e.Remove, e.Change, e.HCL = slices.Clone(e.Remove), slices.Clone(e.Change), slices.Clone(e.HCL)
	return e
}

// extended adds one element to one list of a rule about the host, where that is all
// that is missing: of a rule about this host alone, or of one about more.
func (e Edit) extended(eg sandbox.Egress, r egress.Request, o policy.Opinion, alone bool) (Edit, sandbox.Egress, bool) {
	for _, near := range o.Near {
		key, ok := ruleKey(near.Path)
		if !ok || alone != isAlone(near.Rule.Host()) {
			continue
		}
		rule, ok := oneMore(eg.Rules[key], r)
		if !ok {
			continue
		}
		edit := e.clone()
		edit.Change = rulesOf([]policy.PlacedRule{near})
		eg.Rules = maps.Clone(eg.Rules)
		eg.Rules[key] = rule
		edit.rule(key, rule, len(eg.Rules) > 1)
		return edit, eg, true
	}
	return Edit{}, eg, false
}

// ruleKey is the key of a rule in egress_rules.
func ruleKey(path sandbox.FieldPath) (string, bool) {
	if len(path) < 2 {
		return "", false
	}
	return path[1].MapKey()
}

// isAlone reports whether a pattern is one name or one address.
func isAlone(host egress.Host) bool {
	return !host.IsWildcard() && (!host.IsAddress() || host.Prefix().IsSingleIP())
}

// oneMore is the rule with one port, method or path more, if then it admits the
// request.
func oneMore(rule sandbox.EgressRule, r egress.Request) (sandbox.EgressRule, bool) {
	path, named := egress.NamedPath(r.Path)
	for _, more := range []struct {
		can bool
		add func(*sandbox.EgressRule)
	}{
		{true, func(e *sandbox.EgressRule) { e.Ports = append(slices.Clone(e.Ports), strconv.Itoa(int(r.Port))) }},
		{egress.NamesMethod(r.Method), func(e *sandbox.EgressRule) { e.Methods = append(slices.Clone(e.Methods), r.Method) }},
		{named, func(e *sandbox.EgressRule) { e.Paths = append(slices.Clone(e.Paths), path) }},
	} {
		extended := rule
		if more.add(&extended); more.can && admitsAlone(extended, r) {
			return extended, true
		}
	}
	return rule, false
}

// admitsAlone reports whether a rule is one and admits the request.
func admitsAlone(rule sandbox.EgressRule, r egress.Request) bool {
	parsed, findings := egress.ParseRule("", rule, nil)
	if len(findings) > 0 {
		return false
	}
	_, ok := egress.NewSet([]egress.Rule{parsed}).Match(r)
	return ok
}

// added adds a rule, in the short form where that says the same.
func (e Edit) added(eg sandbox.Egress, rule sandbox.EgressRule) (Edit, sandbox.Egress) {
	edit := e.clone()
	if slices.Equal(rule.Ports, []string{"443"}) && slices.Equal(rule.Methods, any1) && slices.Equal(rule.Paths, any1) {
		eg.Hosts = append(slices.Clone(eg.Hosts), rule.Host)
		edit.list("egress_hosts", eg.Hosts, rule.Host)
		return edit, eg
	}
	key := RuleKey(rule.Host, eg.Rules)
	rules := maps.Clone(eg.Rules)
	if rules == nil {
		rules = map[string]sandbox.EgressRule{}
	}
	rules[key] = rule
	eg.Rules = rules
	edit.rule(key, rule, len(rules) > 1)
	return edit, eg
}

// rule adds the lines of one rule, beside others or alone.
func (e *Edit) rule(key string, rule sandbox.EgressRule, others bool) {
	e.HCL = append(e.HCL, "egress_rules = {")
	if others {
		e.HCL = append(e.HCL, "  # the other rules there are, and")
	}
	e.HCL = append(e.HCL, "  "+RuleHCL(key, rule), "}")
}

// RuleHCL is a rule as an element of egress_rules, under its key.
func RuleHCL(key string, rule sandbox.EgressRule) string {
	if !isIdentifier(key) {
		key = egress.HCLString(key)
	}
	return key + " = { host = " + egress.HCLString(rule.Host) + ", ports = " + hclList(rule.Ports) +
		", methods = " + hclList(rule.Methods) + ", paths = " + hclList(rule.Paths) + " }"
}

// isIdentifier reports whether a key stands without quotes. {for begins an
// expression.
func isIdentifier(key string) bool {
	for i := range len(key) {
		switch c := key[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return key != "" && key != "for"
}

// hclList writes a list, port numbers as such.
func hclList(texts []string) string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = egress.HCLString(text)
		if _, err := strconv.ParseUint(text, 10, 16); err == nil {
			parts[i] = text
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

var any1 = []string{"*"}

// RuleKey is a key for a rule about the host that is not taken.
func RuleKey(host string, taken map[string]sandbox.EgressRule) string {
	return NewKeys(taken).For(host)
}

// Keys gives rules keys of which no two are alike, in one step for each.
type Keys struct {
	taken map[string]sandbox.EgressRule
	given map[string]bool
	next  map[string]int // by what a key is made of
}

// NewKeys gives keys that are not taken.
func NewKeys(taken map[string]sandbox.EgressRule) *Keys {
	return &Keys{taken: taken, given: make(map[string]bool), next: make(map[string]int)}
}

// For is a key for a rule about the host.
func (k *Keys) For(host string) string {
	base := egress.Addition{Rule: sandbox.EgressRule{Host: host}}.Key()
	for {
		key := base
		if k.next[base]++; k.next[base] > 1 {
			key += "_" + strconv.Itoa(k.next[base])
		}
		if _, ok := k.taken[key]; !ok && !k.given[key] {
			k.given[key] = true
			return key
		}
	}
}
