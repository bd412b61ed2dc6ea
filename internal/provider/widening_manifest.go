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
func compareManifest(prior, planned tftypes.Value, g *platformPolicy) widening {
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
	var w widening
	for _, moved := range policy.ComparePostures(before.Posture(), next.posture(g)) {
		w.subjects = append(w.subjects, m.subject(moved))
	}
	return w
}

// posture is what the manifest would say, with what is imposed.
func (in manifestInput) posture(g *platformPolicy) policy.Posture {
	p := in.document(g).Posture()
	p.Policy = in.Policy.layer()
	for _, path := range in.Known.Paths() {
		if path.HasPrefix(sandbox.Path("workloads")) {
			p.Known = p.Known.Unknown(path)
		}
	}
	if g != nil && g.open {
		p.Known = p.Known.Unknown(sandbox.Path("host_policy"))
	}
	if !in.admissionKnown() || g != nil && g.open {
		p.Known = p.Known.Unknown(sandbox.Path("guarantees"))
	}
	for name, workload := range in.Workloads {
		p.Workloads[name] = policy.Ask{Spec: workload.Spec, Known: workload.Known}
	}
	return p
}

// compiles reports what in a document this release would not take. It would be
// compared as if it were not there.
func compiles(m manifest.Manifest) error {
	var findings []sandbox.Finding
	for _, layer := range m.Layers() {
		findings = append(findings, policy.LayerFindings(layer)...)
	}
	for _, name := range m.WorkloadNames() {
		findings = append(findings, policy.SpecFindings(m.Workloads[name], sandbox.Known{})...)
	}
	return sandbox.Decide(findings).Err()
}

// manifestChange is a manifest's prior state beside its plan.
type manifestChange struct {
	was, next manifestInput
	before    manifest.Manifest
	imposed   *platformPolicy
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

// subject is one part as it is guarded.
func (m manifestChange) subject(c policy.SubjectChange) subject {
	s := subject{
		noun: "Workload", about: c.Subject, at: c.At, moved: c.Comparison,
		rule: m.rule, acceptances: []acceptance{m.own},
	}
	if len(c.At) == 0 {
		return m.itself(s)
	}
	switch part, _ := c.At[0].Attr(); part {
	case "host_policy":
		// Its paths lie in the runner's file.
		s.noun, s.at = "Policy", nil
		for i := range s.moved.Changes {
			s.moved.Changes[i].Path = nil
		}
	case "policy":
		return m.policy(s)
	}
	return s
}

// itself is the manifest, whose own guard may be taken away.
func (m manifestChange) itself(s subject) subject {
	changes, undecided := m.next.guard.since(m.was.guard)
	s.noun, s.about = "Manifest", m.about()
	s.moved.Changes = append(changes, s.moved.Changes...)
	s.moved.Undecided = append(undecided, s.moved.Undecided...)
	return s
}

// policy is the team's policy, guarded by its own rule as well, and accepted by
// its own acceptance as well.
func (m manifestChange) policy(s subject) subject {
	was := m.was.Policy
	was.Policy = m.before.Policy
	before, err := was.encodeKnown()
	own := policySubject(was, m.next.Policy, before)
	own.at = s.at
	own.rule = stricter(m.was.guard, m.next.guard, was.guard, m.next.Policy.guard).OrDefault()
	own.acceptances = s.acceptances
	if err == nil {
		own.acceptances = append(own.acceptances, acceptance{m.next.Policy.guard, policyChange(was, m.next.Policy, before)})
	}
	return own
}
