package policy

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Beside returns the same declarations with a way to learn of other backends,
// which is asked only when something is missing. It changes nothing but the
// remedies of findings: they then name the backends that give what this one does
// not.
func (c *CompiledDeclarations) Beside(others func() []sandbox.Declarations) *CompiledDeclarations {
	if c == nil {
		return nil
	}
	beside := *c
	beside.others = others
	return &beside
}

// otherBackends are those that are known beside the one at hand, by name.
func (q *question) otherBackends() []sandbox.Declarations {
	if q.backend.others == nil {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(q.backend.others()), func(d sandbox.Declarations) bool {
		return d.Backend == q.backendName()
	})
	slices.SortStableFunc(others, func(a, b sandbox.Declarations) int { return strings.Compare(a.Backend, b.Backend) })
	return others
}

// lacking lists guarantees that the backend does not give, each with the evidence
// that is not enough where it claims it.
func (q *question) lacking(missing sandbox.GuaranteeSet) string {
	var words []string
	for _, g := range missing.Words() {
		word := g.String()
		if kind := q.backend.decl.Guarantees[g].Kind; kind != 0 {
			word += " (" + kind.String() + " only)"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// whoGives says which other backends that enforce the workload's mode give the
// guarantees, and on what evidence. It is a sentence to put after a remedy, empty
// where no other backend is known.
func (q *question) whoGives(wanted sandbox.GuaranteeSet) string {
	others := q.otherBackends()
	if len(others) == 0 {
		return ""
	}
	others, mode := q.enforcing(others)
	var whole, parts []string
	for _, d := range others {
		if givenBy(d, wanted, q.evidence()) == wanted {
			whole = append(whole, d.Backend+" ("+weakest(d, wanted).String()+")")
		}
	}
	if len(whole) > 0 {
		return ". Backends that give them: " + strings.Join(whole, ", ")
	}
	for _, g := range wanted.Words() {
		parts = append(parts, g.String()+" is given by "+q.givers(others, g))
	}
	return ". No other known backend" + mode + " gives all of them: " + strings.Join(parts, "; ")
}

// givers lists who gives one guarantee, and on what evidence.
func (q *question) givers(others []sandbox.Declarations, g sandbox.Guarantee) string {
	var enough, weak []string
	for _, d := range others {
		switch kind := d.Guarantees[g].Kind; {
		case kind == 0:
		case kind >= q.evidence():
			enough = append(enough, d.Backend+" ("+kind.String()+")")
		default:
			weak = append(weak, d.Backend+" ("+kind.String()+")")
		}
	}
	switch {
	case len(enough) > 0:
		return strings.Join(enough, ", ")
	case len(weak) > 0:
		return "none with " + q.evidence().String() + " evidence, with less by " + strings.Join(weak, ", ")
	default:
		return "none"
	}
}

// givenBy is what of the wanted guarantees a backend gives with at least that
// evidence.
func givenBy(d sandbox.Declarations, wanted sandbox.GuaranteeSet, need sandbox.EvidenceKind) sandbox.GuaranteeSet {
	var given sandbox.GuaranteeSet
	for _, g := range wanted.Words() {
		if d.Guarantees[g].Kind >= need {
			given = given.With(g)
		}
	}
	return given
}

// weakest is the weakest evidence behind the guarantees.
func weakest(d sandbox.Declarations, wanted sandbox.GuaranteeSet) sandbox.EvidenceKind {
	kind := sandbox.EvidenceProbed
	for _, g := range wanted.Words() {
		kind = min(kind, d.Guarantees[g].Kind)
	}
	return kind
}

// whoIsolates says which other backends reach the floor on enough evidence. It is
// a sentence to put after a remedy, empty where no other backend is known.
func (q *question) whoIsolates() string {
	others := q.otherBackends()
	if len(others) == 0 {
		return ""
	}
	floor, _ := q.floor()
	var enough, weak []string
	for _, d := range others {
		claim := d.Backend + " (" + d.Isolation.String() + ", " + d.IsolationEvidence.Kind.String() + ")"
		switch {
		case !d.Isolation.Meets(floor) || d.IsolationEvidence.Kind == 0:
		case d.IsolationEvidence.Kind >= q.evidence():
			enough = append(enough, claim)
		default:
			weak = append(weak, claim)
		}
	}
	switch {
	case len(enough) > 0:
		return ". Backends that are strong enough: " + strings.Join(enough, ", ")
	case len(weak) > 0:
		return ". No other known backend is strong enough with " + q.evidence().String() + " evidence; with less: " + strings.Join(weak, ", ")
	default:
		return ". No other known backend is strong enough"
	}
}

// whoOffers says which other backends that enforce the workload's mode offer all
// that it requires. It is a sentence to put after a remedy, empty where no other
// backend is known.
func (q *question) whoOffers(required sandbox.CapabilitySet) string {
	others := q.otherBackends()
	if len(others) == 0 {
		return ""
	}
	others, mode := q.enforcing(others)
	var names []string
	for _, d := range others {
		if required.Minus(offered(d)).Empty() {
			names = append(names, d.Backend)
		}
	}
	if len(names) > 0 {
		return ". Backends that offer all it requires: " + strings.Join(names, ", ")
	}
	return ". No other known backend" + mode + " offers all it requires"
}

// enforcing keeps the backends that enforce the workload's mode, where that is
// known, and returns the words that say so.
func (q *question) enforcing(others []sandbox.Declarations) (those []sandbox.Declarations, mode string) {
	e := &q.spec.egress
	if e.modeOpen {
		return others, ""
	}
	return slices.DeleteFunc(others, func(d sandbox.Declarations) bool { return !d.EgressModes.Has(e.mode) }),
		" that enforces " + e.mode.String()
}

// offered is what a backend says that it can do.
func offered(d sandbox.Declarations) sandbox.CapabilitySet {
	if d.Capabilities == nil {
		return sandbox.DefaultCapabilities()
	}
	return *d.Capabilities
}
