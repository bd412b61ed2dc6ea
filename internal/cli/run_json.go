package cli

import (
	"time"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/learn"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// ran is one run of a program as JSON.
type ran struct {
	Backend string `json:"backend"`
	// ExitCode is null where no program ended: it was never there, or was stopped.
	ExitCode *int    `json:"exit_code"`
	Seconds  float64 `json:"seconds"`
	// What the program wrote. Bytes that are no UTF-8 stand in the other two, in
	// base64.
	Stdout       string `json:"stdout"`
	Stderr       string `json:"stderr"`
	StdoutBase64 []byte `json:"stdout_base64,omitempty"`
	StderrBase64 []byte `json:"stderr_base64,omitempty"`
	// Landed are the outputs that were collected.
	Landed []landing `json:"landed"`
	// Code is why the run did not end well, where that has a code, and the others are
	// what was found and what to do.
	Code   sandbox.Code `json:"code,omitempty"`
	Found  string       `json:"found,omitempty"`
	Remedy string       `json:"remedy,omitempty"`
	// Refused are the requests that the sandbox's proxy refused, the first few, and
	// RefusedBeside is how many decisions are not among them.
	Refused       []learn.Refusal `json:"refused"`
	RefusedBeside int64           `json:"refused_beside,omitzero"`
	// DecisionsLost is how many decisions of the proxy nobody recorded, whether they
	// were refusals or not.
	DecisionsLost int64 `json:"decisions_lost,omitzero"`

	happened bool
}

// landing is one output as JSON.
type landing struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Handle string `json:"handle"`
}

// fill notes a run, also one that failed. ended reports that the program came to an end
// of its own.
func (r *ran) fill(
	s *sandbox.Session, result sandbox.ExecResult, ended bool, took time.Duration, landed []output.Landed, err error,
) {
	r.happened = true
	r.Backend, r.Seconds = s.Info().Backend, took.Round(time.Millisecond).Seconds()
	if ended {
		r.ExitCode = &result.ExitCode
	}
	r.Stdout, r.StdoutBase64 = textOrBytes(result.Stdout)
	r.Stderr, r.StderrBase64 = textOrBytes(result.Stderr)
	r.Landed = make([]landing, len(landed))
	for i, l := range landed {
		r.Landed[i] = landing{l.Name, l.Size, l.Handle}
	}
	if refusal := sandbox.RefusalOf(err); refusal != nil {
		r.Code, r.Found, r.Remedy = refusal.Code, refusal.Found, refusal.Remedy
	}
}

func textOrBytes(b []byte) (string, []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}
