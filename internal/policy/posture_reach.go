package policy

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Reach is everything that could be sent out: what a workload under one policy
// may be given, or what a workload asks for. The zero value reaches nothing.
type Reach struct {
	egress    compiledEgress
	never     *egress.Set
	neverOpen bool
}

// Reach is what a workload under the policy may be given: that of the last one,
// where several are in force. It is meant to have been compiled without a denial.
func (p *CompiledPolicy) Reach() Reach {
	if p == nil || len(p.layers) == 0 {
		return Reach{}
	}
	l := &p.layers[len(p.layers)-1]
	return Reach{egress: l.egress, never: l.neverReach, neverOpen: l.neverOpen}
}

// Reach is what the workload asks for itself, whatever any policy says of it.
func (s *CompiledSpec) Reach() Reach {
	if s == nil {
		return Reach{}
	}
	return Reach{egress: s.egress}
}

// Contains reports whether everything that inner reaches, r reaches too. The
// witness of a denial is one thing that only inner reaches. It is undecided where
// a value that is not known yet could change the answer.
func (r Reach) Contains(inner Reach) (verdict sandbox.Verdict, witness string) {
	switch {
	case inner.nothing():
		return sandbox.Allow, ""
	case r.egress.modeOpen:
		return sandbox.Undecided, ""
	case !inner.egress.modeOpen && inner.egress.mode == sandbox.EgressUnrestricted:
		return r.containsAllBut(inner)
	}
	verdict, witness = r.containsRules(&inner.egress)
	if verdict == sandbox.Deny && inner.egress.modeOpen {
		// The rules hold only under an allowlist.
		return sandbox.Undecided, ""
	}
	if verdict == sandbox.Allow && (inner.egress.open || inner.egress.modeOpen) && !r.everything() {
		return sandbox.Undecided, ""
	}
	return verdict, witness
}

// nothing reports whether certainly nothing is reached.
func (r Reach) nothing() bool {
	return !r.egress.modeOpen && r.egress.mode <= sandbox.EgressClosed
}

// everything reports whether certainly nothing is out of reach.
func (r Reach) everything() bool {
	return !r.egress.modeOpen && r.egress.mode == sandbox.EgressUnrestricted && !r.neverOpen && r.never.Len() == 0
}

// containsAllBut judges an inner side that reaches everything but what it names.
func (r Reach) containsAllBut(inner Reach) (sandbox.Verdict, string) {
	if r.egress.mode != sandbox.EgressUnrestricted {
		return sandbox.Deny, inner.egress.example()
	}
	only, within := r.never.Within(inner.never)
	switch {
	case within && r.neverOpen, !within && inner.neverOpen:
		return sandbox.Undecided, ""
	case within:
		return sandbox.Allow, ""
	default:
		return sandbox.Deny, only.String()
	}
}

// containsRules judges the known rules of an inner side.
func (r Reach) containsRules(inner *compiledEgress) (sandbox.Verdict, string) {
	if r.egress.mode == sandbox.EgressUnrestricted {
		if shared, overlaps := inner.set.Overlaps(r.never); overlaps {
			return sandbox.Deny, shared.String()
		}
	} else if only, within := inner.set.Within(r.egress.allowed()); !within {
		if r.egress.open && r.egress.mode == sandbox.EgressAllowlist {
			return sandbox.Undecided, ""
		}
		return sandbox.Deny, only.String()
	}
	if r.neverOpen {
		return sandbox.Undecided, ""
	}
	return sandbox.Allow, ""
}
