package policy

import (
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// layersWhere names the policies for which keep answers true.
func (q *question) layersWhere(keep func(*compiledLayer) bool) string {
	var names []string
	for i := range q.policy.layers {
		if l := &q.policy.layers[i]; keep(l) {
			names = append(names, l.Source)
		}
	}
	return strings.Join(names, ", ")
}

func (q *question) deniedCapabilities() {
	p, s := q.policy, q.spec
	if denied := s.requires.Intersect(p.denied); !denied.Empty() {
		by := q.layersWhere(func(l *compiledLayer) bool {
			return !denied.Intersect(l.Policy.DeniedCapabilities).Empty()
		})
		q.deny(sandbox.CodeCapabilityDenied, at("requires"), denied.String(),
			"none of what "+by+" denies: "+p.denied.String(),
			q.doWithout(denied))
		return
	}
	switch {
	case p.deniedOpen && (s.requiresOpen || !s.requires.Empty()):
		q.wait(at("requires"), "denied_capabilities of the policy", "whether a required capability is denied")
	case s.requiresOpen && !p.denied.Empty():
		q.wait(at("requires"), "requires", "whether a required capability is denied")
	case q.derivedOpen() && !p.denied.Intersect(derivable).Empty():
		q.wait(at("requires"), "an egress rule", "whether it needs a denied capability")
	}
}

// doWithout is the edit after which the workload no longer requires the
// capabilities: those that it states, and those that its egress rules ask for.
func (q *question) doWithout(unwanted sandbox.CapabilitySet) string {
	var edits []string
	derived := unwanted.Intersect(q.spec.egress.derived)
	if stated := unwanted.Minus(derived); !stated.Empty() {
		edits = append(edits, "take "+stated.String()+" out of what the workload requires")
	}
	if !derived.Empty() {
		edits = append(edits, "write egress rules that need no "+strings.Join(derived.Strings(), " and no "))
	}
	return strings.Join(edits, " and ")
}

// derivable are the capabilities that egress rules add to a spec.
var derivable = sandbox.SetOf(sandbox.CapabilityEgressPorts, sandbox.CapabilityEgressMethods,
	sandbox.CapabilityEgressPaths, sandbox.CapabilityEgressAddresses)

// derivedOpen reports whether an unknown rule could still need a capability.
func (q *question) derivedOpen() bool { return q.spec.egress.open }

func (q *question) deniedIdentities() {
	p, s := q.policy, q.spec
	if denied := s.spec.Identities.Intersect(p.deniedIDs); !denied.Empty() {
		by := q.layersWhere(func(l *compiledLayer) bool {
			return !denied.Intersect(l.Policy.DeniedIdentities).Empty()
		})
		q.deny(sandbox.CodeIdentityDenied, at("identities"), denied.String(),
			"none of what "+by+" denies: "+p.deniedIDs.String(),
			"drop the host tools that act as "+denied.String())
		return
	}
	switch {
	case p.deniedIDsOpen && (s.open.identities || !s.spec.Identities.Empty()):
		q.wait(at("identities"), "denied_identities of the policy", "whether an identity is denied")
	case s.open.identities && !p.deniedIDs.Empty():
		q.wait(at("identities"), "identities", "whether an identity is denied")
	}
}

// attachedIdentity holds what the backend attaches against the policy's and the
// workload's bounds. It is judged before the floor.
func (q *question) attachedIdentity() {
	attached, s := q.backend.decl.AttachedIdentity, q.spec
	if !attached.Attached() {
		return
	}
	path := at("maximum_identity_scope")
	bound := q.policy.identityScope
	if bound == sandbox.IdentityScopeUnspecified && !q.policy.identityOpen {
		bound = sandbox.IdentityScopeNone
	}
	switch {
	case bound != sandbox.IdentityScopeUnspecified && attached.Scope > bound:
		q.deny(sandbox.CodeAttachedIdentity, at("backend"),
			"backend "+q.backendName()+" attaches an identity shared "+attached.Scope.String(),
			"at most "+bound.String()+", by maximum_identity_scope of the policy",
			"choose a backend without an attached identity, or raise maximum_identity_scope in the policy")
	case q.policy.identityOpen:
		q.wait(at("backend"), "maximum_identity_scope of the policy", "whether the attached identity is permitted")
	}
	switch {
	case s.requiresOpen || s.open.identityBounds:
		q.wait(path, "the workload's bound for an attached identity", "whether the attached identity is permitted")
	case !s.requires.Has(sandbox.CapabilityAttachedIdentity):
		q.deny(sandbox.CodeAttachedIdentity, at("requires"),
			"backend "+q.backendName()+" attaches an identity the workload does not require", "attached_identity in requires",
			`add "attached_identity" to requires with its bounds, or choose another backend`)
	case attached.Scope > s.spec.MaximumIdentityScope:
		q.deny(sandbox.CodeAttachedIdentity, path,
			"backend "+q.backendName()+" attaches an identity shared "+attached.Scope.String(),
			"at most "+s.spec.MaximumIdentityScope.String(),
			"raise maximum_identity_scope, or choose another backend")
	case attached.RetentionSeconds > s.spec.IdentityRetentionSeconds:
		q.deny(sandbox.CodeAttachedIdentity, at("identity_retention_seconds"),
			"backend "+q.backendName()+" keeps its identity for "+itoa(attached.RetentionSeconds)+" seconds",
			"at most "+itoa(s.spec.IdentityRetentionSeconds),
			"raise identity_retention_seconds, or choose another backend")
	}
}

// isolationFloor compares the backend's rung with the strongest of all floors.
func (q *question) isolationFloor() {
	s := q.spec
	floor, open := q.floor()
	declared := q.backend.decl.Isolation
	switch {
	case !declared.Meets(floor):
		q.deny(sandbox.CodeIsolationBelowFloor, at("backend"),
			q.backendName()+" provides "+declared.String()+", "+q.backend.decl.IsolationEvidence.String(),
			floor.String()+" or stronger, set by: "+q.floorContributors(),
			q.floorRemedy(declared)+q.whoIsolates())
	case open && declared != sandbox.IsolationVM:
		what := "minimum_isolation of the policy"
		if s.open.floor {
			what = "minimum_isolation"
		}
		q.wait(at("backend"), what, "the isolation floor")
	}
}

// floor is the effective floor as far as it is known. Where nobody states one
// the default holds; while somebody's is unknown, the known part is a lower
// bound, and the default is not assumed.
func (q *question) floor() (floor sandbox.Isolation, open bool) {
	p, s := q.policy, q.spec
	floor = p.floor
	open = p.floorOpen || s.open.floor
	if !s.open.floor {
		floor = max(floor, s.spec.MinimumIsolation)
	}
	if floor == sandbox.IsolationUnspecified && !open {
		floor = sandbox.DefaultIsolationFloor
	}
	return floor, open
}

func (q *question) floorContributors() string {
	var parts []string
	for i := range q.policy.layers {
		l := &q.policy.layers[i]
		if m := l.Policy.MinimumIsolation; m != sandbox.IsolationUnspecified && l.Known.Has(at("minimum_isolation")) {
			parts = append(parts, l.Source+" ("+m.String()+")")
		}
	}
	if m := q.spec.spec.MinimumIsolation; m != sandbox.IsolationUnspecified && !q.spec.open.floor {
		parts = append(parts, "the workload ("+m.String()+")")
	}
	if len(parts) == 0 {
		return "nobody, so the default holds (" + sandbox.DefaultIsolationFloor.String() + ")"
	}
	return strings.Join(parts, ", ")
}

func (q *question) floorRemedy(declared sandbox.Isolation) string {
	if declared == sandbox.IsolationUnspecified {
		return "choose a backend that declares its isolation"
	}
	remedy := "choose a stronger backend, or set minimum_isolation = " + strconv.Quote(declared.String())
	if above := q.floorsAbove(declared); len(above) > 0 {
		return remedy + " where the floor is set: " + strings.Join(above, ", ")
	}
	return remedy + " in the policy"
}

// floorsAbove names those who set a floor that a rung does not meet.
func (q *question) floorsAbove(declared sandbox.Isolation) (names []string) {
	for i := range q.policy.layers {
		l := &q.policy.layers[i]
		if l.Known.Has(at("minimum_isolation")) && l.Policy.MinimumIsolation > declared {
			names = append(names, l.Source)
		}
	}
	if q.spec.spec.MinimumIsolation > declared && !q.spec.open.floor {
		names = append(names, "the workload")
	}
	return names
}

// isolationEvidence asks what stands behind the rung. A floor of none needs no
// evidence: everything meets it.
func (q *question) isolationEvidence() {
	floor, open := q.floor()
	if floor == sandbox.IsolationNone && !open {
		return
	}
	have := q.backend.decl.IsolationEvidence
	need := q.evidence()
	switch {
	case have.Kind < need:
		if open && floor <= sandbox.IsolationNone {
			q.wait(at("backend"), "minimum_isolation", "whether the rung needs evidence")
			return
		}
		q.deny(sandbox.CodeIsolationEvidence, at("backend"),
			q.backendName()+"'s "+q.backend.decl.Isolation.String()+" is "+have.String(),
			need.String()+" evidence",
			q.evidenceRemedy(have.Kind)+q.whoIsolates())
	case q.policy.evidenceOpen && have.Kind < sandbox.EvidenceProbed:
		q.wait(at("backend"), "minimum_evidence of the policy", "whether the backend's evidence is enough")
	}
}

// evidence is the strictest stated demand, probed when nobody states one. While
// a layer's is unknown the known part is a lower bound.
func (q *question) evidence() sandbox.EvidenceKind {
	switch {
	case q.policy.evidence != 0:
		return q.policy.evidence
	case q.policy.evidenceOpen:
		return sandbox.EvidenceDocumented
	default:
		return sandbox.EvidenceProbed
	}
}

func (q *question) evidenceRemedy(have sandbox.EvidenceKind) string {
	if have == sandbox.EvidenceDocumented {
		return `set minimum_evidence = "documented" in the policy, or give probed facts in backend_facts`
	}
	return "give probed facts in backend_facts, or choose a backend with evidence"
}

func (q *question) capabilities() {
	s := q.spec
	if missing := s.requires.Minus(q.backend.capabilities); !missing.Empty() {
		q.deny(sandbox.CodeCapabilityMissing, at("requires"), missing.String(),
			"what backend "+q.backendName()+" offers: "+q.backend.capabilities.String(),
			q.doWithout(missing)+", or choose another backend"+q.whoOffers(s.requires))
		return
	}
	everything := sandbox.SetOf(sandbox.Capabilities()...)
	if s.requiresOpen && !everything.Minus(q.backend.capabilities).Empty() {
		q.wait(at("requires"), "requires", "whether the backend offers it")
	} else if q.derivedOpen() && !derivable.Minus(q.backend.capabilities).Empty() {
		q.wait(at("requires"), "an egress rule", "whether the backend offers what it needs")
	}
}
