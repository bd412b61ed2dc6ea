package learn

import (
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/explain"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// fewest is how many rules or paths a pattern has to stand for to be suggested.
const fewest = 3

// maxSuggestions is how many patterns are suggested.
const maxSuggestions = 10

// Suggestion is a rule that a person may choose in place of others. It opens more
// than was asked for, so it is never a part of the proposal.
type Suggestion struct {
	Rule sandbox.EgressRule `json:"rule"`
	// HCL is the element to write, into egress_hosts or egress_rules.
	HCL string `json:"hcl"`
	// Replaces are the hosts or paths of rules that could then go.
	Replaces []string `json:"replaces"`
	// Opens is something that it opens beside.
	Opens string `json:"opens"`
}

// suggest looks for what new rules have in common.
func suggest(rules []Rule) []Suggestion {
	list := []Suggestion{}
	texts := make([]sandbox.EgressRule, len(rules))
	for i, r := range rules {
		texts[i] = r.Rule
	}
	have := setOf(texts)
	offer := func(rule sandbox.EgressRule, replaces []string) {
		witness, within := setOf([]sandbox.EgressRule{rule}).Within(have)
		if within || witness.String() == "" || len(list) == maxSuggestions {
			return
		}
		hcl := egress.HCLString(rule.Host)
		if !short(rule) {
			hcl = explain.RuleHCL(explain.RuleKey(strings.TrimPrefix(rule.Host, "*."), nil), rule)
		}
		list = append(list, Suggestion{Rule: rule, HCL: hcl, Replaces: replaces, Opens: witness.String()})
	}
	for _, names := range siblings(rules) {
		rule := names[0].Rule
		_, parent, _ := strings.Cut(rule.Host, ".")
		rule.Host = "*." + parent
		var replaces []string
		for _, r := range names {
			replaces = append(replaces, r.Rule.Host)
		}
		offer(rule, replaces)
	}
	for _, r := range rules {
		if prefix := commonPrefix(r.Rule.Paths); r.New && prefix != "" {
			rule := r.Rule
			rule.Paths = []string{prefix}
			offer(rule, r.Rule.Paths)
		}
	}
	return list
}

// siblings are new rules that differ in the first label of their names alone. Names
// that may carry data are not rewarded with a wildcard, and no public suffix is.
func siblings(rules []Rule) [][]Rule {
	byParent := make(map[string][]Rule)
	var order []string
	for _, r := range rules {
		_, parent, ok := strings.Cut(r.Rule.Host, ".")
		suffix, _ := publicsuffix.PublicSuffix(parent)
		if !r.New || !ok || registrable(r.Rule.Host) == "" || suffix == parent || !strings.Contains(parent, ".") || carriesData(r.Rule.Host) {
			continue
		}
		key := parent + " " + strings.Join(slices.Concat(r.Rule.Ports, []string{"|"}, r.Rule.Methods, []string{"|"}, r.Rule.Paths), " ")
		if byParent[key] == nil {
			order = append(order, key)
		}
		byParent[key] = append(byParent[key], r)
	}
	var all [][]Rule
	for _, key := range order {
		if names := byParent[key]; len(names) >= fewest && len(names) < manySiblings {
			all = append(all, names)
		}
	}
	return all
}

// commonPrefix is the longest path that is above or at all of several, empty where
// that is only the root.
func commonPrefix(paths []string) string {
	if len(paths) < fewest {
		return ""
	}
	common := strings.Split(paths[0], "/")
	for _, p := range paths[1:] {
		segments := strings.Split(p, "/")
		n := 0
		for n < min(len(common), len(segments)) && common[n] == segments[n] {
			n++
		}
		common = common[:n]
	}
	return strings.Join(common, "/")
}
