package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Relied are the guarantees on which admitting a workload on a backend rests: what
// the policies or the workload demand, and what its egress mode needs to mean what
// it says, as far as the backend gives it with the evidence that the policies ask
// for. All of it must be known.
func Relied(layers []Layer, ask Ask, declared sandbox.Declarations) sandbox.GuaranteeSet {
	return needed(layers, ask).Intersect(givenWith(declared, evidenceOf(layers)))
}

// ReliedOn is the finding that a backend no longer gives, with the evidence that the
// policies ask for, the guarantees on which a plan relied: one for all of them, since
// they are lost together. relied is by the name of the backend.
func ReliedOn(layers []Layer, relied map[string]sandbox.GuaranteeSet, d sandbox.Declarations) []sandbox.Finding {
	evidence := evidenceOf(layers)
	lost := relied[d.Backend].Minus(givenWith(d, evidence))
	if lost.Empty() {
		return nil
	}
	return []sandbox.Finding{{
		Code: sandbox.CodeEgressGuarantee, Subject: "backend " + sandbox.Echo(d.Backend),
		Path: sandbox.Path(axisRelied, sandbox.MapKey(d.Backend)), Found: evidenceFor(lost, d),
		Required: strings.Join(lost.Strings(), ", ") + " with " + evidence.String() + " evidence, on which the plan relied",
		Remedy:   "run the backend as it was when its facts were taken, or plan again with new facts",
	}}
}

// IsReliedOn reports whether a finding is one of [ReliedOn], and of which backend.
func IsReliedOn(f sandbox.Finding) (backend string, ok bool) {
	if f.Code != sandbox.CodeEgressGuarantee || len(f.Path) != 2 {
		return "", false
	}
	if axis, _ := f.Path[0].Attr(); axis != axisRelied {
		return "", false
	}
	return f.Path[1].MapKey()
}

// evidenceFor says what evidence there is for guarantees, those with none first.
func evidenceFor(lost sandbox.GuaranteeSet, d sandbox.Declarations) string {
	of := make(map[sandbox.EvidenceKind][]string)
	for _, g := range lost.Words() {
		kind := d.Guarantees[g].Kind
		of[kind] = append(of[kind], g.String())
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		names := strings.Join(of[kind], ", ")
		switch {
		case kind != sandbox.EvidenceKindUnspecified:
			texts = append(texts, names+" with "+kind.String()+" evidence")
		case len(of[kind]) == 1:
			texts = append(texts, "no guarantee "+names)
		default:
			texts = append(texts, "none of the guarantees "+names)
		}
	}
	return strings.Join(texts, "; ")
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
