package conformance_test

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func egressSubjects() map[string]subject {
	return map[string]subject{
		"allow":            judgeAllow,
		"render":           judgeRendered,
		"acas_same_policy": judgeSame,
		"allow_shape":      judgeShape,
		"methods_shape":    judgeShape,
		"proxy_policy":     judgeAbsent,
		"read_decisions":   judgeAbsent,
		"gateways":         judgeAbsent,
		"ipv4_subnets":     judgeAbsent,
	}
}

type allowIn struct {
	Entries  []entryIn
	Mode     *string
	Requires *[]string
}

// allowed is what became of a spec's egress.
type allowed struct {
	Refused string
	// Kept: "the same" where the reference keeps the set that was given.
	Kept     string
	Required []string
}

// judgeAllow compiles a spec. The reference keeps entries without repetitions;
// ours keeps a set, so the two are equal when the sets are.
func judgeAllow(v *vector) (answer, error) {
	var in allowIn
	var out struct {
		refusal
		Entries  []entryIn
		Required []string `json:"required_capabilities"`
	}
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	theirs := allowed{Refused: out.Error, Required: out.Required}
	if out.Error == "" {
		theirs.Kept = "the same"
	}

	asked := specIn{Requires: in.Requires, EgressAllow: in.Entries, Egress: in.Mode}
	if firstEra(v.Oracle) {
		asked.Egress = nil
	}
	spec, findings := asked.spec(v.Oracle)
	if spec.Requires != nil && spec.Requires.Has(sandbox.CapabilityAttachedIdentity) {
		// The vectors leave its bounds out; the reference was given some.
		spec.MaximumIdentityScope, spec.IdentityRetentionSeconds = sandbox.IdentityScopeShared, 1
	}
	compiled, problems := policy.CompileSpec(spec, sandbox.Known{})
	f := firstDenial(append(findings, problems...))
	var ours allowed
	if f != nil {
		ours.Refused = classOf(*f) + unnamed(*f, out.Mentions)
		return answer{ours: asText(ours), theirs: asText(theirs), refusal: f}, nil
	}
	if out.Required != nil {
		ours.Required = compiled.Required().Strings()
	}
	given, _ := setOf(in.Entries)
	kept, f := setOf(out.Entries)
	ours.Kept = "another set"
	if f == nil && given.Equal(kept) {
		ours.Kept = "the same"
	}
	return answer{ours: asText(ours), theirs: asText(theirs)}, nil
}

// setOf parses entries to a set.
func setOf(entries []entryIn) (*egress.Set, *sandbox.Finding) {
	var rules []egress.Rule
	for _, e := range entries {
		rule, findings := e.parse()
		if f := firstDenial(findings); f != nil {
			return egress.NewSet(nil), f
		}
		rules = append(rules, rule)
	}
	return egress.NewSet(rules), nil
}

func (e *entryIn) parse() (egress.Rule, []sandbox.Finding) {
	if e.Short {
		return egress.ParseShort(e.Host, nil)
	}
	return egress.ParseRule("", e.rule(), nil)
}

// judgeRendered compares the words of a rule's text. Ours adds the port, sorts
// methods and writes every prefix with its star.
func judgeRendered(v *vector) (answer, error) {
	var in struct{ Rule entryIn }
	var out struct{ Text string }
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	rule, findings := in.Rule.parse()
	if f := firstDenial(findings); f != nil {
		return answer{}, f.Refusal(nil)
	}
	words := func(text string) string {
		list := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("(), ;", r) })
		for i := range list {
			list[i] = strings.TrimSuffix(list[i], "/*")
		}
		slices.Sort(list)
		return asText(list)
	}
	return answer{ours: words(strings.Replace(rule.String(), ":443", "", 1)), theirs: words(out.Text)}, nil
}

func judgeSame(v *vector) (answer, error) {
	var in struct{ A, B allowIn }
	var out struct{ Same bool }
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	a, f := setOf(in.A.Entries)
	b, g := setOf(in.B.Entries)
	if f != nil || g != nil {
		return answer{ours: "refused", theirs: asText(out.Same)}, nil
	}
	same := *in.A.Mode == *in.B.Mode && a.Equal(b)
	return answer{ours: asText(same), theirs: asText(out.Same)}, nil
}

// judgeShape has nothing of ours to ask: a slice of hosts is all that fits.
func judgeShape(v *vector) (answer, error) {
	var out refusal
	err := v.out(&out)
	return answer{ours: "not typed", theirs: out.Error}, err
}
