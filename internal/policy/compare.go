package policy

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
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
)

var changeNames = [...]string{Incomparable: "changed both ways", Widened: "widened", Narrowed: "narrowed", Equal: "equal"}

// String is "widened", "narrowed", "equal" or "changed both ways".
func (c Change) String() string {
	if int(c) < len(changeNames) {
		return changeNames[c]
	}
	return changeNames[Incomparable]
}

// Widens reports whether something became possible.
func (c Change) Widens() bool { return c == Widened || c == Incomparable }

// AxisChange is one axis of a policy on which two of them differ.
type AxisChange struct {
	// Axis is the attribute, and Path the place of the difference in the later
	// policy.
	Axis   string
	Path   sandbox.FieldPath
	Change Change
	// Before and After describe both sides.
	Before, After string
	// Witness is one concrete thing that became possible, where there is one.
	Witness string
}

// ComparePolicies says on which axes two policies differ and which way, in the
// order of the decision. Both are judged as they act: what nobody states is read
// as its default. Axes that permit the same are left out, however they are
// spelt.
func ComparePolicies(before, after sandbox.Policy) []AxisChange {
	b, _ := compileLayer(Layer{Policy: before})
	a, _ := compileLayer(Layer{Policy: after})
	d := &differences{}

	d.set("denied_capabilities", words(before.DeniedCapabilities), words(after.DeniedCapabilities))
	d.set("denied_identities", words(before.DeniedIdentities), words(after.DeniedIdentities))
	d.bound("maximum_identity_scope", identityBound(before), identityBound(after))
	d.floor("minimum_isolation", isolationFloor(before), isolationFloor(after))
	d.floor("minimum_evidence", evidenceFloor(before), evidenceFloor(after))
	d.floor("minimum_isolation_scope", scopeFloor(before), scopeFloor(after))
	d.floor("minimum_cleanup", cleanupFloor(before), cleanupFloor(after))
	d.ceiling("files_in_limits", before.FilesIn, after.FilesIn)
	d.ceiling("files_out_limits", before.FilesOut, after.FilesOut)
	d.egress(&b.egress, &a.egress)
	d.never(b.neverReach, a.neverReach)
	d.set("egress_guarantees", words(before.Egress.Guarantees), words(after.Egress.Guarantees))
	d.floor("missing_guarantees", missingFloor(before), missingFloor(after))
	d.bound("egress_match", matchBound(before), matchBound(after))
	d.registries(before.Images.Registries, after.Images.Registries)
	d.floor("image_require_digest", required(before.Images.RequireDigest), required(after.Images.RequireDigest))
	d.bound("image_prebuilt", prebuiltBound(before), prebuiltBound(after))
	d.user(before.Images.User, after.Images.User)
	return d.changes
}

// Widenings are the changes through which something became possible.
func Widenings(changes []AxisChange) []AxisChange {
	return slices.DeleteFunc(slices.Clone(changes), func(c AxisChange) bool { return !c.Change.Widens() })
}

// rung is a place on some ladder with its text.
type rung struct {
	rank int
	text string
}

func missingFloor(p sandbox.Policy) rung {
	floor := max(p.MissingGuarantees, sandbox.MissingGuaranteesWarn)
	return rung{int(floor), floor.String()}
}

func isolationFloor(p sandbox.Policy) rung {
	floor := p.MinimumIsolation
	if floor == sandbox.IsolationUnspecified {
		floor = sandbox.DefaultIsolationFloor
	}
	return rung{int(floor), floor.String()}
}

func evidenceFloor(p sandbox.Policy) rung {
	floor := p.MinimumEvidence
	if floor == 0 {
		floor = sandbox.EvidenceProbed
	}
	return rung{int(floor), floor.String()}
}

func scopeFloor(p sandbox.Policy) rung {
	floor := max(p.MinimumIsolationScope, sandbox.ScopeConversation)
	return rung{int(floor), floor.String()}
}

// cleanupFloor reads silence as the host's default, dispose.
func cleanupFloor(p sandbox.Policy) rung {
	floor := p.MinimumCleanup
	if floor == sandbox.CleanupUnspecified {
		floor = sandbox.CleanupDispose
	}
	return rung{int(floor), floor.String()}
}

func identityBound(p sandbox.Policy) rung {
	bound := max(p.MaximumIdentityScope, sandbox.IdentityScopeNone)
	return rung{int(bound), bound.String()}
}

func matchBound(p sandbox.Policy) rung {
	bound := max(p.EgressMatch, sandbox.EgressMatchExact)
	return rung{int(bound), bound.String()}
}

func prebuiltBound(p sandbox.Policy) rung {
	bound := p.Images.Prebuilt
	if bound == 0 {
		bound = sandbox.PrebuiltAllow
	}
	return rung{int(bound), bound.String()}
}

func required(yes bool) rung {
	if yes {
		return rung{1, "required"}
	}
	return rung{0, "not required"}
}

func words[T interface {
	~uint8
	String() string
}](s sandbox.Set[T]) []string {
	return s.Strings()
}

// differences collects changes.
type differences struct{ changes []AxisChange }

func (d *differences) add(axis string, change Change, before, after, witness string) {
	if change == Equal {
		return
	}
	d.changes = append(d.changes, AxisChange{
		Axis: axis, Path: at(axis), Change: change, Before: before, After: after, Witness: witness,
	})
}

// floor compares lower bounds: lowering one widens.
func (d *differences) floor(axis string, before, after rung) {
	d.add(axis, moved(after.rank-before.rank), before.text, after.text, "")
}

// bound compares upper bounds: raising one widens.
func (d *differences) bound(axis string, before, after rung) {
	d.add(axis, moved(before.rank-after.rank), before.text, after.text, "")
}

// moved is the change of something that tightens as it grows.
func moved(tighter int) Change {
	switch {
	case tighter > 0:
		return Narrowed
	case tighter < 0:
		return Widened
	default:
		return Equal
	}
}

// both folds "something was lost" and "something was gained" of restrictions.
func both(widened, narrowed bool) Change {
	switch {
	case widened && narrowed:
		return Incomparable
	case widened:
		return Widened
	case narrowed:
		return Narrowed
	default:
		return Equal
	}
}

// set compares sets of restrictions: taking one away widens.
func (d *differences) set(axis string, before, after []string) {
	lost, gained := without(before, after), without(after, before)
	witness := ""
	if len(lost) > 0 {
		witness = strings.Join(lost, ", ") + " no longer"
	}
	d.add(axis, both(len(lost) > 0, len(gained) > 0), listOf(before), listOf(after), witness)
}

func without(from, take []string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(w string) bool { return slices.Contains(take, w) })
}

func listOf(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// ceiling compares limits leg by leg; none at all is the widest.
func (d *differences) ceiling(axis string, before, after *sandbox.TransferLimits) {
	switch {
	case before == nil && after == nil:
	case after == nil:
		d.add(axis, Widened, before.String(), "no ceiling", "")
	case before == nil:
		d.add(axis, Narrowed, "no ceiling", after.String(), "")
	default:
		d.add(axis, both(!after.Within(*before), !before.Within(*after)), before.String(), after.String(), "")
	}
}

// egress compares what can be reached.
func (d *differences) egress(before, after *compiledEgress) {
	b, a := max(before.mode, sandbox.EgressClosed), max(after.mode, sandbox.EgressClosed)
	if b != a {
		change := Narrowed
		if a > b {
			change = Widened
		}
		witness := ""
		if change == Widened && len(after.rules) > 0 {
			if w, within := after.set.Within(nil); !within {
				witness = w.String()
			}
		}
		d.add("egress_mode", change, b.String(), a.String(), witness)
		return
	}
	if b != sandbox.EgressAllowlist {
		return
	}
	gained, within := after.set.Within(before.set)
	_, contains := before.set.Within(after.set)
	change := both(!within, !contains)
	if change == Equal {
		return
	}
	c := AxisChange{
		Axis: "egress", Path: at("egress_hosts"), Change: change,
		Before: listRules(before.rules), After: listRules(after.rules),
	}
	if !within {
		c.Witness = gained.String()
		c.Path = after.pathOf(before.set)
	}
	d.changes = append(d.changes, c)
}

// pathOf is where the first rule stands that goes beyond the bound.
func (c *compiledEgress) pathOf(bound *egress.Set) sandbox.FieldPath {
	for i := range c.rules {
		if _, within := egress.NewSet(c.rules[i : i+1]).Within(bound); !within {
			return c.paths[i]
		}
	}
	return at("egress_hosts")
}

// never compares what is asserted never to be reached: asserting less widens.
func (d *differences) never(before, after *egress.Set) {
	lost, kept := before.Within(after)
	_, same := after.Within(before)
	witness := ""
	if !kept {
		witness = lost.String() + " is no longer ruled out"
	}
	d.add("never_reaches", both(!kept, !same), listRules(before.Rules()), listRules(after.Rules()), witness)
}

// registries compares the permitted registries; nil permits all.
func (d *differences) registries(before, after []string) {
	switch {
	case before == nil && after == nil:
	case after == nil:
		d.add("image_registries", Widened, listOf(before), "any", "")
	case before == nil:
		d.add("image_registries", Narrowed, "any", listOf(after), "")
	default:
		gained, lost := without(after, before), without(before, after)
		witness := strings.Join(gained, ", ")
		d.add("image_registries", both(len(gained) > 0, len(lost) > 0), listOf(before), listOf(after), witness)
	}
}

// user compares which users an image may run as.
func (d *differences) user(before, after sandbox.ImageUser) {
	b, a := max(before, sandbox.ImageUserAny), max(after, sandbox.ImageUserAny)
	switch {
	case b == a:
	case a == sandbox.ImageUserAny:
		d.add("image_user", Widened, b.String(), a.String(), "")
	case b == sandbox.ImageUserAny:
		d.add("image_user", Narrowed, b.String(), a.String(), "")
	default:
		d.add("image_user", Incomparable, b.String(), a.String(), "")
	}
}
