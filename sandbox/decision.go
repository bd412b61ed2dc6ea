package sandbox

import "strings"

// Verdict is the answer to "may this workload run there?". The zero value is
// Deny, so a forgotten answer refuses.
type Verdict uint8

const (
	// Deny refuses. It outranks every other verdict.
	Deny Verdict = iota
	// Undecided means that some input is not known yet. Terraform plans past it;
	// at run time it is a refusal.
	Undecided
	// Allow admits.
	Allow
)

var verdictNames = [...]string{Deny: "deny", Undecided: "undecided", Allow: "allow"}

// String is "deny", "undecided" or "allow".
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return verdictNames[Deny]
}

// MarshalText renders the verdict as [Verdict.String] does.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Finding is one thing the decision has to say. It is data: prose is made from
// it, never parsed back.
type Finding struct {
	// Verdict is what this finding alone would decide. Deny refuses, Undecided
	// waits for a value, Allow is a warning that refuses nothing.
	Verdict Verdict `json:"verdict"`
	// Code is stable across releases; the docs' page of the decision explains each.
	Code Code `json:"code"`
	// Subject is who is judged, in the user's words: `workload "report"`. It is
	// empty where the caller has not named it.
	Subject string `json:"subject,omitempty"`
	// Path is the place to edit, below the subject.
	Path FieldPath `json:"path"`
	// Found is what stands there, with the user's own values.
	Found string `json:"found"`
	// Required is what would have been accepted, and who asks for it.
	Required string `json:"required"`
	// Witness is one concrete thing that would become possible if this were let
	// through, such as evil.example.com:443. It is empty where there is none.
	Witness string `json:"witness,omitempty"`
	// Remedy is the edit to make.
	Remedy string `json:"remedy"`
}

// Refusal turns the finding into an error. err may be nil; it is kept for
// [errors.Unwrap].
func (f Finding) Refusal(err error) *Refusal {
	return &Refusal{Finding: f, Err: err}
}

// Decision is the outcome of judging one workload, with every finding in the
// fixed order of the checks. The zero value refuses.
type Decision struct {
	Verdict  Verdict   `json:"verdict"`
	Findings []Finding `json:"findings,omitempty"`
}

// Decide folds findings into a decision: one Deny denies, else one Undecided
// leaves it undecided, else it is allowed. The order of findings is kept.
func Decide(findings []Finding) Decision {
	v := Allow
	for i := range findings {
		v = min(v, findings[i].Verdict)
	}
	return Decision{Verdict: v, Findings: findings}
}

// Err is nil when the decision allows. Otherwise it is a [*Refusal] for the
// first finding that decided, with all deciding findings joined behind it. An
// undecided decision is an error too: whoever runs code must refuse it.
func (d Decision) Err() error {
	if d.Verdict == Allow {
		return nil
	}
	var refusals Refusals
	for _, f := range d.Findings {
		if f.Verdict == d.Verdict {
			refusals = append(refusals, f.Refusal(nil))
		}
	}
	switch len(refusals) {
	case 0:
		return Finding{
			Code: CodeUndecided, Found: "a decision without a verdict", Required: "an allow",
			Remedy: "decide the workload before it is used",
		}.Refusal(nil)
	case 1:
		return refusals[0]
	default:
		return refusals
	}
}

// Refusals are several refusals of one thing, in the order of the checks. It is
// an error whose text lists all of them; errors.Is and errors.As see each.
type Refusals []*Refusal

// Error lists every refusal, one a line.
func (rs Refusals) Error() string {
	lines := make([]string, len(rs))
	for i, r := range rs {
		lines[i] = r.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each refusal to [errors.Is] and [errors.As], first one first.
func (rs Refusals) Unwrap() []error {
	errs := make([]error, len(rs))
	for i, r := range rs {
		errs[i] = r
	}
	return errs
}
