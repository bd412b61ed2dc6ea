package policy

import (
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Posture is what a manifest says about which sandboxes a host may make: the
// policies in force and the workloads they admitted.
type Posture struct {
	// HostPolicy is what a runner imposed beside the team's Policy, if anything.
	HostPolicy *Layer
	Policy     Layer
	// Group says in which sandbox group the workloads run, empty where nothing
	// does.
	Group string
	// Guarantees are what each backend must still give at run time, by its name.
	Guarantees map[string]sandbox.GuaranteeSet
	Workloads  map[string]Ask
	// Known marks which of host_policy, group, guarantees, workloads and
	// workloads["name"] are not known yet. What is inside a policy or a workload is
	// marked there.
	Known sandbox.Known
}

// Ask is one workload and what of it is known.
type Ask struct {
	Spec  sandbox.Spec
	Known sandbox.Known
}

// Presence says on which sides of a comparison a subject stands.
type Presence uint8

const (
	// Kept: on both sides, or on neither.
	Kept Presence = iota
	// Added: on the later side only.
	Added
	// Removed: on the earlier side only.
	Removed
)

var presenceNames = [...]string{Kept: "kept", Added: "added", Removed: "removed"}

// String is "kept", "added" or "removed".
func (p Presence) String() string {
	if int(p) < len(presenceNames) {
		return presenceNames[p]
	}
	return presenceNames[Kept]
}

// SubjectChange is how one part of a posture moved.
type SubjectChange struct {
	// Subject is what messages call it: policy "agents", workload "report".
	Subject string
	// At is where it stands in the manifest; the paths of the changes count from
	// there. It is nil for the manifest itself.
	At       sandbox.FieldPath
	Presence Presence
	Comparison
}

// Moved sums up subjects: whether anything became possible, whether anything
// became impossible, and whether all of it is known.
func Moved(subjects []SubjectChange) (widened, narrowed, decided bool) {
	decided = true
	for _, s := range subjects {
		decided = decided && len(s.Undecided) == 0
		for _, c := range s.Changes {
			widened = widened || c.Change.Widens()
			narrowed = narrowed || c.Change.Narrows()
		}
	}
	return widened, narrowed, decided
}

// PlatformPolicy is how messages call the policy that a runner imposes.
const PlatformPolicy = "platform policy"

const (
	subjectManifest = "manifest"
	axisWorkloads   = "workloads"
	axisRelied      = "guarantees"
)

// ComparePostures compares an earlier posture, all of which is known, with a
// later one. It returns every subject, the unchanged ones too, in a fixed order:
// the manifest itself, the policy that a runner imposed, the team's policy, and
// the workloads of both sides by name.
//
// A workload that is new widens unless an earlier one of its kind and backend
// could do as much, under whatever name; one that goes narrows unless a later one
// can. So renaming a workload is neither. A workload that moves to another kind
// or backend moved both ways: nothing ranks those.
func ComparePostures(before, after Posture) []SubjectChange {
	subjects := []SubjectChange{compareFrame(before, after), compareHostPolicy(before, after), {
		Subject: after.Policy.Source, At: at("policy"),
		Comparison: ComparePolicy(before.Policy.Policy, after.Policy.Policy, after.Policy.Known),
	}}
	r := newRollout(before, after)
	for _, name := range bothKeys(before.Workloads, after.Workloads) {
		subjects = append(subjects, r.workload(name))
	}
	return subjects
}

// compareFrame compares what is neither policy nor workload.
func compareFrame(before, after Posture) SubjectChange {
	d := &differences{known: after.Known}
	d.other("group", Replaced, before.Group, after.Group)
	if !d.open(axisRelied) {
		for _, backend := range bothKeys(before.Guarantees, after.Guarantees) {
			// What the workloads of one side do not need, that side does not rely on.
			needed := before.needs(backend).Intersect(after.needs(backend))
			relied := &differences{}
			relied.demands(axisRelied, before.Guarantees[backend].Intersect(needed).Strings(), after.Guarantees[backend].Intersect(needed).Strings())
			for _, c := range relied.changes {
				c.Path = c.Path.Append(sandbox.MapKey(backend))
				d.changes = append(d.changes, c)
			}
		}
	}
	if !after.Known.Has(at(axisWorkloads)) {
		d.undecided = append(d.undecided, at(axisWorkloads))
	}
	return SubjectChange{Subject: subjectManifest, Comparison: d.comparison(frameAreas)}
}

var frameAreas = []area{{"group", []string{"group"}}, {axisRelied, []string{axisRelied}}}

// compareHostPolicy compares what runners imposed. Where it came or went, what
// counts is what it makes of the team's own policy: it tightens what that states,
// and answers where that is silent.
func compareHostPolicy(before, after Posture) SubjectChange {
	s := SubjectChange{Subject: PlatformPolicy, At: at("host_policy")}
	own := after.Policy
	switch {
	case !after.Known.Has(s.At):
		s.Undecided = []sandbox.FieldPath{nil}
	case before.HostPolicy == nil && after.HostPolicy == nil:
	case before.HostPolicy == nil:
		s.Presence = Added
		both, _ := Strictest(own.Policy, after.HostPolicy.Policy)
		s.Comparison = ComparePolicy(own.Policy, both, own.Known)
	case after.HostPolicy == nil:
		s.Presence = Removed
		both, _ := Strictest(own.Policy, before.HostPolicy.Policy)
		s.Comparison = ComparePolicy(both, own.Policy, own.Known)
	default:
		s.Comparison = ComparePolicy(before.HostPolicy.Policy, after.HostPolicy.Policy, after.HostPolicy.Known)
	}
	if s.Presence != Kept {
		s.reach = sides{} // which would be the team's own policy's
	}
	return s
}

// bothKeys are the keys of either map, sorted.
func bothKeys[V any](a, b map[string]V) []string {
	keys := append(sortedKeys(a), sortedKeys(b)...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
