package explain

import (
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Difference is how the posture of one document differs from an earlier one's.
type Difference struct {
	// Document is the sort of both.
	Document     string          `json:"document"`
	BeforeDigest manifest.Digest `json:"before_digest"`
	AfterDigest  manifest.Digest `json:"after_digest"`
	// Change sums up the subjects: widened, narrowed, incomparable when both, and
	// equal when neither.
	Change   string `json:"change"`
	Widened  bool   `json:"widened"`
	Narrowed bool   `json:"narrowed"`
	// Subjects are the parts of either document, those in which nothing differs too.
	Subjects []Subject `json:"subjects"`
}

// Subject is one policy or workload, or what a manifest says beside those.
type Subject struct {
	Subject string `json:"subject"`
	// Presence is "added" or "removed" where only one document has it.
	Presence string `json:"presence,omitempty"`
	// Change is a direction as in [Difference], or replaced where something is
	// another that has no order.
	Change  string `json:"change"`
	Changes []Axis `json:"changes"`
	// Unchanged are the areas in which nothing differs.
	Unchanged []string `json:"unchanged"`

	widens, narrows bool
}

// Axis is one axis on which a subject differs.
type Axis struct {
	Axis string `json:"axis"`
	// Path is where it stands in the later document.
	Path   string `json:"path"`
	Change string `json:"change"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Witness is one thing that became possible.
	Witness string `json:"witness,omitempty"`
	// NowReaches and NoLongerReaches are all destinations that came and went, where
	// both sides have rules. Both are empty where there is too much to tell apart.
	NowReaches      []string `json:"now_reaches,omitempty"`
	NoLongerReaches []string `json:"no_longer_reaches,omitempty"`

	at   string // the path below the subject
	text string // for people
}

// Compare says what a later document permits that an earlier one did not, and the
// other way round, as package policy compares them. Two documents of different
// sorts are [ErrSort].
func Compare(before, after Document) (Difference, error) {
	if before.Sort != after.Sort {
		return Difference{}, fmt.Errorf("%w: a %s and a %s", ErrSort, before.Sort, after.Sort)
	}
	changes := compareBySort(before, after)
	d := Difference{Document: after.Sort, BeforeDigest: before.Digest, AfterDigest: after.Digest}
	d.Widened, d.Narrowed, _ = policy.Moved(changes)
	d.Change = direction(d.Widened, d.Narrowed).String()
	for _, c := range changes {
		s := subjectOf(c)
		s.reach(c.Comparison)
		d.Subjects = append(d.Subjects, s)
	}
	return d, nil
}

func compareBySort(before, after Document) []policy.SubjectChange {
	switch after.Sort {
	case sortPolicy:
		return []policy.SubjectChange{{
			Subject: manifest.PolicySource(after.Policy), At: sandbox.Path("policy"),
			Comparison: policy.ComparePolicy(before.Policy, after.Policy, sandbox.Known{}),
		}}
	case sortWorkload:
		return []policy.SubjectChange{{
			Subject: "workload", At: sandbox.Path("workload"),
			Comparison: policy.CompareWorkload(before.Workload, policy.Ask{Spec: after.Workload}),
		}}
	}
	var changes []policy.SubjectChange
	for _, c := range policy.ComparePostures(before.Manifest.Posture(), after.Manifest.Posture()) {
		if c.Subject == manifest.PlatformPolicy && before.Manifest.HostPolicy == nil && after.Manifest.HostPolicy == nil {
			continue // there is none
		}
		changes = append(changes, c)
	}
	return changes
}

func direction(widened, narrowed bool) policy.Change {
	switch {
	case widened && narrowed:
		return policy.Incomparable
	case widened:
		return policy.Widened
	case narrowed:
		return policy.Narrowed
	default:
		return policy.Equal
	}
}

func subjectOf(c policy.SubjectChange) Subject {
	s := Subject{Subject: c.Subject, Changes: []Axis{}, Unchanged: c.Unchanged}
	if c.Presence != policy.Kept {
		s.Presence = c.Presence.String()
	}
	s.widens, s.narrows, _ = policy.Moved([]policy.SubjectChange{c})
	change := direction(s.widens, s.narrows)
	if change == policy.Equal && len(c.Changes) > 0 {
		change = policy.Replaced
	}
	s.Change = change.String()
	for _, a := range c.Changes {
		s.Changes = append(s.Changes, Axis{
			Axis: a.Axis, Path: c.At.Append(a.Path...).String(), Change: a.Change.String(), Before: a.Before, After: a.After,
			Witness: a.Witness, at: a.Path.String(), text: a.String(),
		})
	}
	return s
}
