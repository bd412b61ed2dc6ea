package sandbox

import (
	"errors"
	"strings"
)

// Refusal is the error of everything this module declines to do. Read its
// fields, not its text. errors.Is matches its [Code]'s sentinel and its
// [Family]:
//
//	errors.Is(err, sandbox.CodeEgressNotEnforced) // exactly this refusal
//	errors.Is(err, sandbox.ErrPermission)         // any refusal of that family
type Refusal struct {
	Finding

	// Err is what lay underneath, if anything. It is never shown to a guest.
	Err error
}

// Error reads: summary: found; required …; remedy [code at path].
func (r *Refusal) Error() string {
	var b strings.Builder
	if r.Subject != "" {
		b.WriteString(r.Subject)
		b.WriteString(": ")
	}
	b.WriteString(r.Code.Summary())
	if r.Found != "" {
		b.WriteString(": found ")
		b.WriteString(r.Found)
	}
	if r.Required != "" {
		b.WriteString("; required ")
		b.WriteString(r.Required)
	}
	if r.Witness != "" {
		b.WriteString("; would become reachable: ")
		b.WriteString(r.Witness)
	}
	if r.Remedy != "" {
		b.WriteString("; ")
		b.WriteString(r.Remedy)
	}
	b.WriteString(" [")
	b.WriteString(r.Locator())
	b.WriteByte(']')
	if r.Err != nil {
		b.WriteString(": ")
		b.WriteString(r.Err.Error())
	}
	return b.String()
}

// Locator is the machine-readable carrier of a finding: "CODE at PATH", or the
// code alone where the whole object is meant. It stands alone on the last line
// of every Terraform diagnostic.
func (f Finding) Locator() string {
	if len(f.Path) == 0 {
		return string(f.Code)
	}
	return string(f.Code) + " at " + f.Path.String()
}

// Unwrap gives the underlying error, if there is one.
func (r *Refusal) Unwrap() error { return r.Err }

// Is matches the refusal's code and its family.
func (r *Refusal) Is(target error) bool {
	switch t := target.(type) {
	case Code:
		return t == r.Code
	case Family:
		return t == r.Code.Family()
	default:
		return false
	}
}

// Family groups codes for callers that only care about the kind of failure. A
// family is an error value to be used with errors.Is.
type Family string

// The families. Several contracts of the runtime dispatch on them, for example
// output collection tells a confinement refusal from an engine failure by it.
const (
	// ErrValue: the input is malformed or contradicts itself. Fix the input.
	ErrValue Family = "invalid value"
	// ErrPermission: policy says no. Fix the policy or ask for less.
	ErrPermission Family = "not permitted"
	// ErrUnsupported: the backend cannot do it. Choose another backend.
	ErrUnsupported Family = "not supported"
	// ErrTimeout: a bound of the caller's own ran out.
	ErrTimeout Family = "timed out"
	// ErrLookup: nothing has that name.
	ErrLookup Family = "not found"
	// ErrOS: the file or process operation failed in the guest.
	ErrOS Family = "operation failed"
	// ErrLimit: a cap was reached. Nothing was truncated.
	ErrLimit Family = "over a limit"
	// ErrUnavailable: the engine or service did not do its part.
	ErrUnavailable Family = "unavailable"
)

// Error is the family's name.
func (f Family) Error() string { return string(f) }

// RefusalOf returns the first refusal in err's tree, or nil.
func RefusalOf(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	return nil
}

// RefusalsOf returns every refusal that err carries at its top, in order: all of
// a [Refusals], or the single one found by errors.As.
func RefusalsOf(err error) []*Refusal {
	if rs, ok := errors.AsType[Refusals](err); ok {
		return rs
	}
	if r := RefusalOf(err); r != nil {
		return []*Refusal{r}
	}
	return nil
}
