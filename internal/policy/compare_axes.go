package policy

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The axes that are called other than the attribute they come from, or by name
// elsewhere.
const (
	axisEgress     = "egress"
	axisEgressMode = "egress_mode"
)

// area gathers axes under the word by which people call them.
type area struct {
	name string
	axes []string
}

var policyAreas = []area{
	{"capabilities", []string{"denied_capabilities"}},
	{"identities", []string{"denied_identities", "maximum_identity_scope"}},
	{"isolation", []string{"minimum_isolation", "minimum_evidence", "minimum_isolation_scope", "minimum_cleanup"}},
	{"limits", []string{"files_in_limits", "files_out_limits"}},
	{"egress", []string{axisEgress, axisEgressMode, "egress_hosts", "egress_rules", "never_reaches", "egress_guarantees", "missing_guarantees", "egress_match"}},
	{"images", []string{"image_registries", "image_require_digest", "image_prebuilt", "image_user"}},
}

var specAreas = []area{
	{"capabilities", []string{"requires"}},
	{"identities", []string{"identities", "maximum_identity_scope", "identity_retention_seconds"}},
	{"isolation", []string{"minimum_isolation", "isolation_scope", "minimum_cleanup"}},
	{"limits", []string{"files_in_limits", "files_out_limits"}},
	{"egress", []string{axisEgress, axisEgressMode, "egress_hosts", "egress_rules", "egress_guarantees"}},
	{"outputs", []string{"outputs_named_at_call_time"}},
}

// differences collects how axes moved. Every method compares one axis of an
// earlier side with one of a later, and notes it as undecided where the later is
// not known.
type differences struct {
	known     sandbox.Known // of the later side
	changes   []AxisChange
	undecided []sandbox.FieldPath
	sides     sides
}

func (d *differences) comparison(areas []area) Comparison {
	c := Comparison{Changes: d.changes, Undecided: d.undecided, reach: d.sides}
	for _, area := range areas {
		if !slices.ContainsFunc(d.changes, func(c AxisChange) bool { return slices.Contains(area.axes, c.Axis) }) &&
			!slices.ContainsFunc(d.undecided, func(p sandbox.FieldPath) bool { return under(p, area.axes) }) {
			c.Unchanged = append(c.Unchanged, area.name)
		}
	}
	return c
}

// under reports whether a path lies at or below one of the attributes. The path
// of the whole object lies at all of them.
func under(path sandbox.FieldPath, attributes []string) bool {
	if len(path) == 0 {
		return true
	}
	name, _ := path[0].Attr()
	return slices.Contains(attributes, name)
}

// open reports whether the later side of an axis is not wholly known, and notes
// it.
func (d *differences) open(axis string) bool {
	if d.known.Whole(at(axis)) {
		return false
	}
	d.undecided = append(d.undecided, at(axis))
	return true
}

func (d *differences) add(axis string, change Change, before, after, witness string) {
	if change == Equal {
		return
	}
	d.changes = append(d.changes, AxisChange{
		Axis: axis, Path: at(axis), Change: change, Before: before, After: after, Witness: witness,
	})
}

// moved folds "something was gained" and "something was lost".
func moved(widened, narrowed bool) Change {
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

// word is a member of a ladder, whose zero is no opinion.
type word interface {
	~uint8
	String() string
}

// floor compares lower bounds, of which the largest that anybody states holds,
// and silence where nobody does. elsewhere is what others may state.
func floor[T word](d *differences, axis string, before, after, silence T, elsewhere []T) {
	ladder(d, axis, before, after, silence, elsewhere, func(x, y T) T { return max(x, y) })
}

// bound compares upper bounds, of which the smallest that anybody states holds.
func bound[T word](d *differences, axis string, before, after, silence T, elsewhere []T) {
	ladder(d, axis, before, after, silence, elsewhere, func(x, y T) T {
		if x == 0 || y == 0 {
			return max(x, y)
		}
		return min(x, y)
	})
}

// ladder tries both sides with everything that others may state beside them.
// fold gives what then holds; the word that it prefers is the stricter one.
func ladder[T word](d *differences, axis string, before, after, silence T, elsewhere []T, fold func(x, y T) T) {
	if d.open(axis) {
		return
	}
	var widened, narrowed bool
	for _, other := range append([]T{0}, elsewhere...) {
		held, holds := fold(before, other), fold(after, other)
		if held == 0 {
			held = silence
		}
		if holds == 0 {
			holds = silence
		}
		if held != holds {
			tighter := fold(held, holds) == holds
			narrowed = narrowed || tighter
			widened = widened || !tighter
		}
	}
	d.add(axis, moved(widened, narrowed), stance(before, silence), stance(after, silence), "")
}

// stance is a word in a sentence.
func stance[T word](w, silence T) string {
	if w == 0 {
		return "left open (" + silence.String() + " by default)"
	}
	return w.String()
}

// flag compares whether a restriction holds, with its words for both answers.
func (d *differences) flag(axis string, before, after bool, holds, lifted string) {
	if d.open(axis) {
		return
	}
	words := map[bool]string{true: holds, false: lifted}
	d.add(axis, moved(before && !after, after && !before), words[before], words[after], "")
}

// denials compares what is denied: taking a word away widens.
func (d *differences) denials(axis string, before, after []string) {
	d.words(axis, before, after, without(before, after), without(after, before), " no longer denied")
}

// demands compares what is demanded: taking a word away widens.
func (d *differences) demands(axis string, before, after []string) {
	d.words(axis, before, after, without(before, after), without(after, before), " no longer demanded")
}

// asks compares what is asked for: adding a word widens.
func (d *differences) asks(axis string, before, after []string) {
	d.words(axis, before, after, without(after, before), without(before, after), " asked for")
}

// words notes a change of a list of words: gained is what became possible, lost
// what became impossible.
func (d *differences) words(axis string, before, after, gained, lost []string, now string) {
	if d.open(axis) {
		return
	}
	witness := ""
	if len(gained) > 0 {
		witness = strings.Join(gained, ", ") + now
	}
	d.add(axis, moved(len(gained) > 0, len(lost) > 0), listOf(before), listOf(after), witness)
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
	if d.open(axis) {
		return
	}
	switch {
	case before == nil && after == nil:
	case after == nil:
		d.add(axis, Widened, before.String(), "no ceiling", "")
	case before == nil:
		d.add(axis, Narrowed, "no ceiling", after.String(), "")
	default:
		d.add(axis, moved(!after.Within(*before), !before.Within(*after)), before.String(), after.String(), "")
	}
}

// atMost compares a number that grows with what is possible.
func (d *differences) atMost(axis string, before, after int64) {
	if !d.open(axis) {
		d.add(axis, moved(after > before, after < before), itoa(before), itoa(after), "")
	}
}

// registries compares the permitted registries; nil permits all.
func (d *differences) registries(before, after []string) {
	const axis = "image_registries"
	if d.open(axis) {
		return
	}
	switch {
	case before == nil && after == nil:
	case after == nil:
		d.add(axis, Widened, listOf(before), "any", "")
	case before == nil:
		d.add(axis, Narrowed, "any", listOf(after), "")
	default:
		d.words(axis, before, after, without(after, before), without(before, after), " permitted")
	}
}

// user compares which users an image may run as.
func (d *differences) user(before, after sandbox.ImageUser) {
	if d.open("image_user") {
		return
	}
	b, a := max(before, sandbox.ImageUserAny), max(after, sandbox.ImageUserAny)
	d.add("image_user", moved(b != a && b != sandbox.ImageUserAny, b != a && a != sandbox.ImageUserAny), b.String(), a.String(), "")
}
