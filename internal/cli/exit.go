package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The exit codes, in the one place that gives them. They are part of the
// command's interface and do not change.
const (
	// ExitAllowed: everything was judged and everything is allowed.
	ExitAllowed = 0
	// ExitRefused: something is refused.
	ExitRefused = 1
	// ExitBadInput: there is no answer. The input is not what it should be, leaves
	// the answer open, or could not be read.
	ExitBadInput = 2
	// ExitWidened: more is permitted than before, and nothing is refused.
	ExitWidened = 3
	// ExitProgram: the program that was run ended with a code other than 0, was
	// stopped at a bound, or left an output it declared undelivered.
	ExitProgram = 4
	// ExitUnfinished: what was begun on Azure did not come to its end, and what is
	// left of it is named.
	ExitUnfinished = 5
	// ExitInterrupted: a signal ended the command.
	ExitInterrupted = 130
)

// What the help of the whole command, and of each that has codes of its own, says
// about them.
const (
	exitHelp = `Exit codes:
  0    everything is allowed
  1    something is refused
  2    there is no answer: bad input, or input that leaves the answer open
  3    more is permitted than before, and nothing is refused
  4    the program that was run failed: its own code is printed
  5    something that was begun on Azure is not finished, and is named
  130  interrupted`
	checkExitHelp = `Exit codes:
  0  everything is allowed
  1  something is refused
  2  there is no answer: bad input, or input that leaves the answer open
  3  everything is allowed, and more than in the baseline
  130  interrupted by a signal`
	whyExitHelp = `Exit codes:
  0  the request is allowed
  1  it is refused
  2  bad input`
	diffExitHelp = `Exit codes:
  0  nothing is permitted that was not
  2  bad input
  3  something is permitted that was not`
	learnExitHelp = `Exit codes:
  0  the list is printed, and the workload permits as much already, where it is known
  1  the list is printed, and with it the workload would be refused
  2  bad input, or the program did not run
  3  the list is printed, and with it the workload would be admitted and permit more
  130  interrupted by a signal`
	azureExitHelp = `Exit codes:
  0    here it is
  1    not there, or not permitted by the endpoint, the sign-in or the service
  2    there is no answer: bad input, or the service gave none
  130  interrupted`
	runExitHelp = `Exit codes:
  0  the program ended with 0 and its outputs landed
  1  the manifest or the workload is refused: nothing ran
  2  bad input: nothing ran
  4  the program ended with another code, which is printed, was stopped at a
     bound, or did not leave an output that it has to
  130  interrupted by a signal`
)

// exit is an error that knows its code. Its error may be nil: then everything
// has been said.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// badInput says that there is no answer, and why.
func badInput(format string, args ...any) error {
	return &exit{ExitBadInput, fmt.Errorf(format, args...)}
}

// codeOf is the exit code that an error asks for. A refusal for want of
// permission or ability is an answer, and so is that the service has no such object;
// any other is bad input.
func codeOf(err error) int {
	var e *exit
	switch {
	case err == nil:
		return ExitAllowed
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, sandbox.ErrPermission), errors.Is(err, sandbox.ErrUnsupported), errors.Is(err, sandbox.CodeServiceNotFound):
		return ExitRefused
	default:
		return ExitBadInput
	}
}

// maxShown is how many refusals of a document are printed.
const maxShown = 10

// end prints what an error has to say and returns its code.
func (a *app) end(ctx context.Context, err error) int {
	code := codeOf(err)
	if err == nil {
		return code
	}
	if ctx.Err() != nil && code != ExitRefused {
		fmt.Fprintln(a.errs, "sandboxctl: interrupted")
		return ExitInterrupted
	}
	for {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok || len(joined.Unwrap()) != 1 {
			break
		}
		err = joined.Unwrap()[0]
	}
	if e, ok := err.(*exit); ok && e.err == nil { //nolint:errorlint // joined to another error, that one is still to be told
		return code
	}
	refusals := sandbox.RefusalsOf(err)
	if len(refusals) == 0 {
		page := show.NewPage(0, 0)
		for i, text := range strings.Split(err.Error(), "\n") {
			if i == 0 {
				text = "sandboxctl: " + text
			}
			page.Row("", text)
		}
		fmt.Fprint(a.errs, page.String())
		return code
	}
	for i, r := range refusals {
		if i == maxShown {
			fmt.Fprintln(a.errs, "\n"+strings.TrimSpace(show.More(len(refusals)-i)))
			break
		}
		if i > 0 {
			fmt.Fprintln(a.errs)
		}
		it := itemOf(r.Finding)
		it.because = because(r)
		fmt.Fprint(a.errs, block(it, endWord(code, r)))
	}
	return code
}

// endWord says of a refusal that ended the command whether something was declined or
// did not work.
func endWord(code int, r *sandbox.Refusal) string {
	service := strings.HasPrefix(string(r.Code), "service.") && !errors.Is(r, sandbox.ErrPermission) && !errors.Is(r, sandbox.CodeCredentialInvalid)
	if service || code == ExitProgram || code == ExitUnfinished {
		return "failed"
	}
	return "refused"
}

// because is what lies under a refusal, in one line, where it says more than the
// refusal itself: a decoder's own words and the end of a context do not.
func because(r *sandbox.Refusal) string {
	switch {
	case r.Err == nil, r.Code == sandbox.CodeDocumentSyntax, r.Code == sandbox.CodeDocumentDuplicate,
		r.Code == sandbox.CodeGuestTimeout, r.Code == sandbox.CodeGuestOutputLimit:
		return ""
	}
	if under := sandbox.RefusalOf(r.Err); under != nil {
		return under.Code.Summary() + ": " + under.Found + " (" + string(under.Code) + ")"
	}
	return strings.Join(strings.FieldsFunc(r.Err.Error(), func(c rune) bool { return c == '\n' }), "; ")
}

// inInput names the input that refusals are about, where they name nothing
// themselves: a file, or a flag with its value.
func inInput(name string, err error) error {
	refusals := sandbox.RefusalsOf(err)
	if len(refusals) == 0 {
		return err
	}
	if name == "-" {
		name = "standard input"
	}
	named := make(sandbox.Refusals, len(refusals))
	for i, r := range refusals {
		f := r.Finding
		if f.Subject == "" {
			f.Subject = name
		}
		named[i] = f.Refusal(r.Err)
	}
	if e, ok := errors.AsType[*exit](err); ok {
		return &exit{e.code, named}
	}
	return named
}
