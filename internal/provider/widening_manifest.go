package provider

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// compareManifest compares what hosts were given with what they would be given.
// The earlier side is the document of the prior state, which is what hosts hold.
// The manifest compares its policy itself, since a policy from a local has no
// state of its own and another policy may have taken its place.
func compareManifest(prior, planned tftypes.Value, g *guardrail) widening {
	next := readManifest(planned, false)
	if prior.IsNull() {
		guards := []guard{next.guard}
		if next.Policy.seal == "" {
			// A policy from a resource has said so there.
			guards = append(guards, next.Policy.guard)
		}
		return newObject("manifest", guards...)
	}
	was := readManifest(prior, false)
	document, _ := asText(attribute(prior, "document"))
	before, err := manifest.Parse([]byte(document))
	if err == nil {
		err = compiles(before)
	}
	if err != nil {
		return unreadableState("manifest", err, was.guard, next.guard)
	}
	m := manifestChange{was: was, next: next, before: before, imposed: g}
	m.own = acceptance{next.guard, m.digest()}
	m.rule = max(was.guard.rule.OrDefault(), next.guard.rule.OrDefault())
	w := widening{subjects: []subject{m.guard(), m.hostPolicy(), m.policy()}}
	for _, name := range sortedKeys(next.Workloads) {
		w.subjects = append(w.subjects, m.workload(name))
	}
	return w
}

// compiles reports what in a document this release would not take. It would be
// compared as if it were not there.
func compiles(m manifest.Manifest) error {
	_, findings := policy.CompilePolicy(m.Layers()...)
	for _, name := range m.WorkloadNames() {
		_, problems := policy.CompileSpec(m.Workloads[name], sandbox.Known{})
		findings = append(findings, problems...)
	}
	return sandbox.Decide(findings).Err()
}

// manifestChange is a manifest's prior state beside its plan.
type manifestChange struct {
	was, next manifestInput
	before    manifest.Manifest
	imposed   *guardrail
	// own is what the manifest itself accepts, and rule its guard.
	own  acceptance
	rule sandbox.OnWidening
}

// digest names the change of the whole manifest, as far as it is known. The
// generation grows with every run and says nothing about what is permitted, so it
// is left out on both sides: what a plan prints holds for the next run too.
func (m manifestChange) digest() manifest.Digest {
	if !m.known() {
		return ""
	}
	before, after := m.before, m.next.document(m.imposed)
	before.Generation, after.Generation = 0, 0
	earlier, err := before.Encode()
	if err != nil {
		return ""
	}
	later, err := after.Encode()
	if err != nil {
		return ""
	}
	return manifest.WideningDigest(
		manifest.Guarded{Document: earlier, Rules: []sandbox.OnWidening{m.was.guard.rule, m.was.Policy.guard.rule}},
		manifest.Guarded{Document: later, Rules: []sandbox.OnWidening{m.next.guard.rule, m.next.Policy.guard.rule}},
	)
}

// known reports whether everything that the change consists of is known.
func (m manifestChange) known() bool {
	known := m.next.Policy.Known.Everything() && m.next.guard.ruleKnown() && m.next.Policy.guard.ruleKnown() &&
		(m.imposed == nil || !m.imposed.open)
	for _, path := range m.next.Known.Paths() {
		known = known && path.HasPrefix(sandbox.Path("generation"))
	}
	for _, workload := range m.next.Workloads {
		known = known && workload.Known.Everything()
	}
	return known
}

func (m manifestChange) about() string {
	document, err := m.before.Encode()
	if err != nil {
		return "manifest"
	}
	return "manifest " + short(manifest.DigestOf(document))
}

// guard is the manifest's own guard, which may be taken away.
func (m manifestChange) guard() subject {
	changes, undecided := m.next.guard.since(m.was.guard)
	return subject{
		noun: "Manifest", about: m.about(), rule: m.rule, acceptances: []acceptance{m.own},
		moved: policy.Comparison{Changes: changes, Undecided: undecided},
	}
}

// policy is the team's policy, guarded by its own rule as well, and accepted by
// its own acceptance as well.
func (m manifestChange) policy() subject {
	was := m.was.Policy
	was.Policy = m.before.Policy
	before, err := was.encodeKnown()
	s := policySubject(was, m.next.Policy, before)
	s.at = sandbox.Path("policy")
	s.rule = stricter(m.was.guard, m.next.guard, was.guard, m.next.Policy.guard).OrDefault()
	s.acceptances = []acceptance{m.own}
	if err == nil {
		s.acceptances = append(s.acceptances, acceptance{m.next.Policy.guard, policyChange(was, m.next.Policy, before)})
	}
	return s
}

// hostPolicy is what the runner imposed. Its paths lie in the runner's file. Where
// it came or went, what counts is what it makes of the manifest's own policy: it
// tightens what that states, and answers where that is silent.
func (m manifestChange) hostPolicy() subject {
	s := subject{noun: "Policy", about: manifest.PlatformPolicy, rule: m.rule, acceptances: []acceptance{m.own}}
	before, after, own := m.before.HostPolicy, m.imposed.effective(), m.next.Policy
	switch {
	case m.imposed != nil && m.imposed.open:
		s.moved.Undecided = []sandbox.FieldPath{nil}
	case before == nil && after == nil:
	case before == nil:
		both, _ := policy.Strictest(own.Policy, *after)
		s.moved = policy.ComparePolicy(own.Policy, both, own.Known)
	case after == nil:
		both, _ := policy.Strictest(own.Policy, *before)
		s.moved = policy.ComparePolicy(both, own.Policy, own.Known)
	default:
		s.moved = policy.ComparePolicy(*before, *after, sandbox.Known{})
	}
	for i := range s.moved.Changes {
		s.moved.Changes[i].Path = nil
	}
	return s
}

// workload compares the workload of that name with the earlier one, or, when it
// is new, with whatever the manifest admitted before.
func (m manifestChange) workload(name string) subject {
	next := m.next.Workloads[name]
	s := subject{
		noun: "Workload", about: "workload " + sandbox.Echo(name), at: sandbox.Path("workloads", sandbox.MapKey(name)),
		rule: m.rule, acceptances: []acceptance{m.own},
	}
	if earlier, ok := m.before.Workloads[name]; ok {
		s.moved = policy.CompareSpec(earlier, next.Spec, next.Known)
		return s
	}
	for _, earlier := range m.before.Workloads {
		same := (earlier.Kind == next.Spec.Kind || !next.Known.Has(sandbox.Path("kind"))) &&
			(earlier.Backend == next.Spec.Backend || !next.Known.Has(sandbox.Path("backend")))
		if c := policy.CompareSpec(earlier, next.Spec, next.Known); same && len(c.Widenings()) == 0 {
			// Nothing that an earlier workload could not do, as far as is known.
			return s
		}
	}
	nothing := sandbox.Spec{Requires: &sandbox.CapabilitySet{}}
	s.moved.Changes = append([]policy.AxisChange{{
		Axis: "workloads", Change: policy.Widened, Before: "none of that name", After: "a new one",
	}}, policy.Widenings(policy.CompareSpec(nothing, next.Spec, next.Known).Changes)...)
	return s
}
