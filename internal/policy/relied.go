package policy

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

// Relied are the guarantees on which admitting a workload on a backend rests: what
// the policies or the workload demand, and what its egress mode needs to mean what
// it says, as far as the backend gives it with the evidence that the policies ask
// for. All of it must be known.
func Relied(layers []Layer, ask Ask, declared sandbox.Declarations) sandbox.GuaranteeSet {
	return needed(layers, ask).Intersect(givenWith(declared, evidenceOf(layers)))
}

// ReliedOn are the findings about guarantees on which a plan relied, by the name of
// the backend, and which the backend no longer gives with the evidence that the
// policies ask for.
func ReliedOn(layers []Layer, relied map[string]sandbox.GuaranteeSet, d sandbox.Declarations) []sandbox.Finding {
	var findings []sandbox.Finding
	evidence := evidenceOf(layers)
	given := givenWith(d, evidence)
	for _, g := range relied[d.Backend].Minus(given).Words() {
		found := "no guarantee " + g.String()
		if kind := d.Guarantees[g].Kind; kind != sandbox.EvidenceKindUnspecified {
			found = g.String() + " with " + kind.String() + " evidence"
		}
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeEgressGuarantee, Subject: "backend " + sandbox.Echo(d.Backend),
			Path: sandbox.Path("guarantees", sandbox.MapKey(d.Backend)), Found: found,
			Required: g.String() + " with " + evidence.String() + " evidence, on which the plan relied",
			Remedy:   "run the backend as it was when its facts were taken, or plan again with new facts",
		})
	}
	return findings
}

// needed is what would be relied on if the backend gave everything.
func needed(layers []Layer, ask Ask) sandbox.GuaranteeSet {
	e, _ := readEgress(ask.Spec.Egress, ask.Known)
	if !e.modeOpen && e.mode == sandbox.EgressUnspecified {
		e.mode = sandbox.EgressClosed
	}
	all := baselineGuarantees(e).Union(ask.Spec.Egress.Guarantees)
	for _, l := range layers {
		all = all.Union(l.Policy.Egress.Guarantees)
	}
	return all
}

// evidenceOf is the least evidence that the policies take, as [Decide] holds
// guarantees against it.
func evidenceOf(layers []Layer) sandbox.EvidenceKind {
	var least sandbox.EvidenceKind
	for _, l := range layers {
		least = max(least, l.Policy.MinimumEvidence)
	}
	if least == sandbox.EvidenceKindUnspecified {
		return sandbox.EvidenceProbed
	}
	return least
}

func givenWith(d sandbox.Declarations, least sandbox.EvidenceKind) sandbox.GuaranteeSet {
	var given sandbox.GuaranteeSet
	for g, e := range d.Guarantees {
		if e.Kind >= least {
			given = given.With(g)
		}
	}
	return given
}

// layers are the policies in force.
func (p Posture) layers() []Layer {
	if p.HostPolicy == nil {
		return []Layer{p.Policy}
	}
	return []Layer{*p.HostPolicy, p.Policy}
}

// needs is what the workloads on a backend need of it, everything where they are
// not wholly known.
func (p Posture) needs(backend string) sandbox.GuaranteeSet {
	var all sandbox.GuaranteeSet
	for _, ask := range p.Workloads {
		switch {
		case !ask.Known.Everything():
			return sandbox.SetOf(sandbox.Guarantees()...)
		case ask.Spec.Backend == backend:
			all = all.Union(needed(p.layers(), ask))
		}
	}
	if !p.Known.Whole(at(axisWorkloads)) || !p.Policy.Known.Everything() || p.HostPolicy != nil && !p.HostPolicy.Known.Everything() {
		return sandbox.SetOf(sandbox.Guarantees()...)
	}
	return all
}
