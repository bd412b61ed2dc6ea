package sandbox

import (
	"strings"
)

// AcquireRequest is what a router asks a backend for: one sandbox, for one
// owner, key and kind, whose spec was admitted.
type AcquireRequest struct {
	// Owner is the router's owner; it is part of the sandbox's identity.
	Owner string
	Key   Key
	// Spec is the admitted workload.
	Spec Spec
	// SpecDigest and PolicyDigest are what admitted it: sha256:<64 hex digits>.
	// A sandbox that carries others is not reused.
	SpecDigest   string
	PolicyDigest string
	// JudgeUser, when set, is asked about the user that the guest itself tells, an
	// undecided one where it tells none, before the session is handed out. Findings
	// that do not allow refuse the acquire.
	JudgeUser func(GuestUser) []Finding
}

// Acquired is a live sandbox and where it came from.
type Acquired struct {
	Session *Session
	Origin  Origin
	// Findings are warnings about the sandbox, each the first time it is due.
	Findings []Finding
}

// Origin says where an acquired sandbox came from.
type Origin uint8

const (
	// OriginCreated: this call made it and nothing has reached it before.
	OriginCreated Origin = iota + 1
	// OriginResumed: it existed and was asleep.
	OriginResumed
	// OriginAdopted: it existed and was running.
	OriginAdopted
)

var origins = vocabulary[Origin]{noun: "origin", words: []string{"", "created", "resumed", "adopted"}}

// String is "created", "resumed" or "adopted".
func (o Origin) String() string { return origins.text(o) }

// MarshalText fails on a value outside the vocabulary.
func (o Origin) MarshalText() ([]byte, error) { return origins.marshal(o) }

// DisposeRequest names what to remove. An empty Kind is every kind of the key;
// an empty InstanceID is whichever instance there is, and one that names an
// instance that is no longer there removes nothing.
type DisposeRequest struct {
	Owner      string
	Key        Key
	Kind       string
	InstanceID string
}

// DisposalFailure says that a sandbox may still be there, and why. It is a
// value before it is an error: clean-up collects them and goes on.
type DisposalFailure struct {
	Code DisposalCode
	// Detail is for logs and operators, never for a guest or a model.
	Detail string
	Err    error
}

// Error reads "code: detail".
func (f *DisposalFailure) Error() string {
	code := f.Code
	if code == 0 {
		code = DisposalUnknown
	}
	return code.String() + ": " + f.Detail
}

// Unwrap gives what lay underneath.
func (f *DisposalFailure) Unwrap() error { return f.Err }

// FoldDisposalFailures makes one of several: none is nil, one is itself, and
// several take the most actionable code and all details (spec A44).
func FoldDisposalFailures(failures ...*DisposalFailure) *DisposalFailure {
	var folded *DisposalFailure
	var details []string
	for _, f := range failures {
		if f == nil {
			continue
		}
		code := f.Code
		if !disposalCodes.valid(code) {
			code = DisposalUnknown
		}
		if folded == nil {
			folded = &DisposalFailure{Code: code, Err: f.Err}
		} else {
			folded.Code = min(folded.Code, code)
		}
		details = append(details, f.Detail)
	}
	if folded != nil {
		folded.Detail = strings.Join(details, "; ")
	}
	return folded
}

// ScopeDisposal is the outcome of disposing everything of a scope or of one of
// its threads.
type ScopeDisposal struct {
	// Disposed counts sandboxes observed to be gone.
	Disposed int
	// Undisposed is nil when nothing may have stayed behind.
	Undisposed *DisposalFailure
}
