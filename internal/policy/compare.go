package policy

import (
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Change is how one axis of a posture moved. The zero value is Incomparable, so
// that a comparison nobody made is never taken for "no change".
type Change uint8

const (
	// Incomparable: something became possible and something else impossible.
	Incomparable Change = iota
	// Widened: something became possible that was not.
	Widened
	// Narrowed: something became impossible.
	Narrowed
	// Equal: the axis permits what it permitted.
	Equal
	// Replaced: another of what has no order, such as an image, within what the
	// policies permit.
	Replaced
)

var changeNames = [...]string{
	Incomparable: "incomparable", Widened: "widened", Narrowed: "narrowed", Equal: "equal", Replaced: "replaced",
}

// Changes are the ways in which an axis that differs can have moved.
func Changes() []Change { return []Change{Widened, Narrowed, Incomparable, Replaced} }

// String is "widened", "narrowed", "equal", "replaced" or "incomparable".
func (c Change) String() string {
	if int(c) < len(changeNames) {
		return changeNames[c]
	}
	return changeNames[Incomparable]
}

// Widens reports whether something became possible.
func (c Change) Widens() bool { return c == Widened || c == Incomparable }

// Narrows reports whether something became impossible.
func (c Change) Narrows() bool { return c == Narrowed || c == Incomparable }

// AxisChange is one axis of a policy or a workload on which two of them differ.
type AxisChange struct {
	// Axis is the attribute, and Path the place of the difference in the later
	// one.
	Axis   string
	Path   sandbox.FieldPath
	Change Change
	// Before and After describe both sides.
	Before, After string
	// Witness is what became possible, where something concrete can be named:
	// a destination that becomes reachable, a word that is no longer denied.
	Witness string
}

// String reads "egress: cdn.example.net:443 becomes reachable" where there is a
// witness, else "minimum_isolation: microvm before, container now".
func (c AxisChange) String() string {
	switch {
	case c.Witness == "":
		return c.Axis + ": " + c.Before + " before, " + c.After + " now"
	case c.Axis == axisEgress || c.Axis == axisEgressMode:
		return c.Axis + ": " + c.Witness + " becomes reachable"
	default:
		return c.Axis + ": " + c.Witness
	}
}

// Comparison is how a posture moved, as far as it is known.
type Comparison struct {
	// Changes are the axes that differ, in the order of the decision. They are
	// certain, whatever is still unknown.
	Changes []AxisChange
	// Undecided are the places about which nothing can be said yet. They count
	// neither as widened nor as equal.
	Undecided []sandbox.FieldPath
	// Unchanged names the areas, such as isolation or egress, in which nothing
	// differs and nothing is undecided.
	Unchanged []string

	reach sides
}

// Widenings are the changes through which something became possible.
func (c Comparison) Widenings() []AxisChange { return Widenings(c.Changes) }

// Widenings are the changes through which something became possible.
func Widenings(changes []AxisChange) []AxisChange {
	return slices.DeleteFunc(slices.Clone(changes), func(c AxisChange) bool { return !c.Change.Widens() })
}

// ComparePolicies says on which axes two policies that are wholly known differ
// and which way; see [ComparePolicy].
func ComparePolicies(before, after sandbox.Policy) []AxisChange {
	return ComparePolicy(before, after, sandbox.Known{}).Changes
}

// ComparePolicy compares an earlier policy with a later one of which everything
// in known is known. Axes that permit the same are left out, however they are
// spelt.
//
// A policy rarely holds alone: a platform policy stands beside it, and a workload
// states floors of its own. An axis widened when anything else that may be in
// force makes the difference. So a default that is no longer spelt out widens:
// minimum_isolation = "microvm" bounds a workload that states "runtime", and
// silence does not.
func ComparePolicy(before, after sandbox.Policy, known sandbox.Known) Comparison {
	b, _ := compileLayer(Layer{Policy: before})
	a, _ := compileLayer(Layer{Policy: after, Known: known})
	d := &differences{known: known, sides: sides{&b.egress, &a.egress}}
	// No policy can accept emulated evidence.
	acceptable := []sandbox.EvidenceKind{sandbox.EvidenceDocumented, sandbox.EvidenceProbed}

	d.denials("denied_capabilities", before.DeniedCapabilities.Strings(), after.DeniedCapabilities.Strings())
	d.denials("denied_identities", before.DeniedIdentities.Strings(), after.DeniedIdentities.Strings())
	bound(d, "maximum_identity_scope", before.MaximumIdentityScope, after.MaximumIdentityScope, sandbox.IdentityScopeNone, sandbox.IdentityScopes())
	floor(d, "minimum_isolation", before.MinimumIsolation, after.MinimumIsolation, sandbox.DefaultIsolationFloor, sandbox.Isolations())
	floor(d, "minimum_evidence", before.MinimumEvidence, after.MinimumEvidence, sandbox.EvidenceProbed, acceptable)
	floor(d, "minimum_isolation_scope", before.MinimumIsolationScope, after.MinimumIsolationScope, sandbox.ScopeConversation, sandbox.IsolationScopes())
	floor(d, "minimum_cleanup", before.MinimumCleanup, after.MinimumCleanup, sandbox.CleanupDispose, sandbox.Cleanups())
	d.ceiling("files_in_limits", before.FilesIn, after.FilesIn)
	d.ceiling("files_out_limits", before.FilesOut, after.FilesOut)
	d.egressBound(&b.egress, &a.egress)
	d.never(b.neverReach, a.neverReach)
	d.demands("egress_guarantees", before.Egress.Guarantees.Strings(), after.Egress.Guarantees.Strings())
	floor(d, "missing_guarantees", before.MissingGuarantees, after.MissingGuarantees, sandbox.MissingGuaranteesWarn, sandbox.MissingGuaranteesRules())
	bound(d, "egress_match", before.EgressMatch, after.EgressMatch, sandbox.EgressMatchExact, sandbox.EgressMatches())
	d.registries(before.Images.Registries, after.Images.Registries)
	d.flag("image_require_digest", before.Images.RequireDigest, after.Images.RequireDigest, "required", "not required")
	bound(d, "image_prebuilt", before.Images.Prebuilt, after.Images.Prebuilt, sandbox.PrebuiltAllow, sandbox.PrebuiltRules())
	d.user(before.Images.User, after.Images.User)
	return d.comparison(policyAreas)
}

// CompareSpec compares what an earlier and a later workload may do under one
// policy: capabilities, identities, its own floors, limits and egress. It does
// not rank what has no order, which is the workload's kind, backend and image;
// the policy bounds those.
func CompareSpec(before, after sandbox.Spec, known sandbox.Known) Comparison {
	b, _ := CompileSpec(before, sandbox.Known{})
	a, _ := CompileSpec(after, known)
	return compareSpecs(b, a)
}

func compareSpecs(earlier, later *CompiledSpec) Comparison {
	before, after := &earlier.spec, &later.spec
	d := &differences{known: later.known, sides: sides{&earlier.egress, &later.egress}}

	d.asks("requires", before.RequiredCapabilities().Strings(), after.RequiredCapabilities().Strings())
	d.asks("identities", before.Identities.Strings(), after.Identities.Strings())
	bound(d, "maximum_identity_scope", before.MaximumIdentityScope, after.MaximumIdentityScope, sandbox.IdentityScopeNone, nil)
	d.atMost("identity_retention_seconds", before.IdentityRetentionSeconds, after.IdentityRetentionSeconds)
	floor(d, "minimum_isolation", before.MinimumIsolation, after.MinimumIsolation, sandbox.DefaultIsolationFloor, sandbox.Isolations())
	floor(d, "isolation_scope", before.IsolationScope, after.IsolationScope, sandbox.ScopeConversation, sandbox.IsolationScopes())
	floor(d, "minimum_cleanup", before.MinimumCleanup, after.MinimumCleanup, sandbox.CleanupDispose, sandbox.Cleanups())
	in, out := before.FilesIn.Or(sandbox.DefaultTransferLimits()), before.FilesOut.Or(sandbox.DefaultTransferLimits())
	nextIn, nextOut := after.FilesIn.Or(sandbox.DefaultTransferLimits()), after.FilesOut.Or(sandbox.DefaultTransferLimits())
	d.ceiling("files_in_limits", &in, &nextIn)
	d.ceiling("files_out_limits", &out, &nextOut)
	d.egressAsk(&earlier.egress, &later.egress)
	d.demands("egress_guarantees", before.Egress.Guarantees.Strings(), after.Egress.Guarantees.Strings())
	d.flag("outputs_named_at_call_time", !before.OutputsNamedAtCallTime, !after.OutputsNamedAtCallTime, "false", "true")
	return d.comparison(specAreas)
}
