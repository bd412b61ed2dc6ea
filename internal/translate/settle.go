package translate

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hcltext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

const (
	// maxPairs bounds how many grants are held against how many denials.
	maxPairs = 2 << 20
	// maxRules bounds what is read, and maxObjects how much of it is written as rule
	// objects: to write one takes as long as to judge a hundred.
	maxRules, maxObjects = 100_000, 1 << 13
	// maxLosses bounds what is said about what is not carried over.
	maxLosses = 1 << 12
	// maxSteps bounds how many parts of rules (ports, methods and paths) are read and
	// cut. A permission may have fallen into maxPieces before it meets most denials.
	maxSteps = 1 << 20
	// piecesAStep are looked at in the time of one step, and stepsACut is what it
	// takes to cut one.
	piecesAStep, stepsACut = 16, 64
)

// settle makes the policy of what was collected: the grants without the denials.
func (r *reader) settle() {
	if len(r.grants)*len(r.denials) > maxPairs {
		r.fail(documentError(sandbox.CodeDocumentTooLarge, nil, 0,
			strconv.Itoa(len(r.denials))+" denials beside "+strconv.Itoa(len(r.grants))+" permissions",
			"a product of at most "+strconv.Itoa(maxPairs), "split the file"))
		return
	}
	var rules []egress.Rule
	for i := range r.grants {
		rules = append(rules, r.remaining(&r.grants[i])...)
		if r.err != nil {
			return
		}
		if len(rules) > maxRules {
			r.fail(documentError(sandbox.CodeDocumentTooLarge, nil, 0, "more than "+strconv.Itoa(maxRules)+" rules", "fewer", "split the file"))
			return
		}
	}
	r.write(rules)
	r.assert(rules)
}

// remaining is what the denials leave of a grant.
func (r *reader) remaining(g *grant) []egress.Rule {
	rest := []egress.Rule{g.rule}
	for i := range r.denials {
		d := &r.denials[i]
		broad := d.broad
		switch {
		case len(rest) == 0:
			return nil
		case d.order >= g.order, d.applies != nil && !d.applies(g):
			continue
		}
		if !r.take((len(rest) - 1) / piecesAStep) {
			return nil
		}
		if !slices.ContainsFunc(rest, func(rule egress.Rule) bool { return d.touches(rule.Host()) }) {
			continue // most often
		}
		var next []egress.Rule
		for _, rule := range rest {
			if !d.touches(rule.Host()) {
				next = append(next, rule)
				continue
			}
			if !r.take(stepsACut + len(rule.Ports()) + len(rule.Methods()) + len(rule.Paths())) {
				return nil
			}
			pieces, whole := subtract(rule, d)
			next = append(next, pieces...)
			if whole && (broad == "" || len(pieces) == 1 && pieces[0].Equal(rule)) {
				continue
			}
			if !whole {
				broad = "rules have no denials, so that what is left of it cannot be written"
			}
			r.lose(g.at, Narrows, "left out: "+rule.String()+" as far as "+d.at.path.String()+" (line "+strconv.Itoa(d.at.value.Line)+
				") denies it, and more than that: "+broad, "name what is needed, without what is denied")
		}
		if len(next) > maxPieces {
			r.lose(g.at, Narrows, "left out: "+g.rule.String()+" falls into more than "+strconv.Itoa(maxPieces)+" rules", "name what is needed")
			return nil
		}
		rest = next
	}
	return rest
}

// write puts rules into the policy: in the short form where that says the same.
func (r *reader) write(rules []egress.Rule) {
	e := &r.policy.Egress
	e.Mode = sandbox.EgressClosed
	if len(rules) == 0 {
		return
	}
	e.Mode = sandbox.EgressAllowlist
	keys := hcltext.Names{}
	seen := make(map[string]bool, len(rules))
	for _, rule := range rules {
		text := rule.String()
		if seen[text] {
			continue
		}
		seen[text] = true
		if !rule.HasPorts() && !rule.HasMethods() && !rule.HasPaths() {
			e.Hosts = append(e.Hosts, rule.Host().String())
			continue
		}
		if e.Rules == nil {
			e.Rules = map[string]sandbox.EgressRule{}
		}
		e.Rules[keys.Free(rule.Name(), "rule")] = rule.Normal()
		if len(e.Rules) > maxObjects {
			r.fail(documentError(sandbox.CodeDocumentTooLarge, nil, 0, "more than "+strconv.Itoa(maxObjects)+" rules with ports, methods or paths",
				"fewer", "split the file"))
			return
		}
	}
	slices.Sort(e.Hosts)
}

// assert makes never_reaches of denials that cover all ports, methods and paths of
// a host that nothing permits.
func (r *reader) assert(rules []egress.Rule) {
	var never []egress.Rule
	for i := range r.denials {
		d := &r.denials[i]
		if !d.asserts || d.everywhere {
			continue
		}
		if text := d.rule.Normal(); text.Ports[0] != "*" || d.rule.HasMethods() || d.rule.HasPaths() {
			r.lose(d.at, NoEquivalent, "the denial of "+d.rule.String()+" holds here, since nothing permits it; a policy asserts only whole hosts", "")
			continue
		}
		never = append(never, d.rule)
	}
	slices.SortFunc(never, func(a, b egress.Rule) int { return cmp.Compare(a.Host().String(), b.Host().String()) })
	never = slices.CompactFunc(never, egress.Rule.Equal)
	if len(never) == 0 {
		return
	}
	reached := make([]bool, len(never))
	for i, w := range egress.NewSet(never).Overlapping(egress.NewSet(rules)) {
		if reached[i] = true; w == (egress.Witness{}) {
			return // nothing is known from here on, and nothing asserted
		}
	}
	for i, rule := range never {
		if !reached[i] {
			r.policy.NeverReaches = append(r.policy.NeverReaches, rule.Host().String())
		}
	}
}
