package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// engineError is one row of what an engine's answers become. Nothing of an
// engine's own text is repeated but as the refusal's underlying error.
type engineError struct {
	err                     error
	code                    sandbox.Code
	found, required, remedy string
}

// engineErrors is read from the top: the first row that matches wins.
var engineErrors = [...]engineError{
	{engine.ErrGone, sandbox.CodeGuestLost, "a sandbox that has ended", "a live sandbox", "acquire again"},
	{engine.ErrThroughLink, sandbox.CodePathThroughLink, "a link in the path", "directories and files only", "name the place itself"},
	{engine.ErrNotDirectory, sandbox.CodePathNotDirectory, "a component that is not a directory", "directories above the last component", "name a path below a directory"},
	{engine.ErrNotExist, sandbox.CodeFileNotFound, "nothing at the path", "something at the path", "list the directory to see what is there"},
	{engine.ErrIsDirectory, sandbox.CodeFileNotRegular, "a directory", "a regular file", "name a file in it"},
	{engine.ErrNotRegular, sandbox.CodeFileNotRegular, "what is not a regular file", "a regular file", "name a regular file"},
	{engine.ErrNoSpace, sandbox.CodeGuestStorageLimit, "no room left", "room for the content", "remove files, or write less"},
	{engine.ErrSize, sandbox.CodeFileSize, "content of another size", "the size that was said", "say the content's exact size"},
	{engine.ErrPermission, sandbox.CodeFileRefused, "no permission in the guest", "a place that the sandbox's files may use", "use a path that the program's user can reach"},
	{engine.ErrMemory, sandbox.CodeGuestMemoryLimit, "a program over its memory", "memory within the limit", "use less memory"},
	{engine.ErrStack, sandbox.CodeGuestStackLimit, "calls nested too deeply", "calls within the stack", "nest less deeply"},
	{engine.ErrCrashed, sandbox.CodeGuestCrashed, "a language runtime that crashed", "a program that the runtime can take", "simplify the program"},
	{engine.ErrQueued, sandbox.CodeGuestQueuedTimeout, "a deadline that passed in the queue", "a turn before the deadline", "try again, unchanged"},
	{engine.ErrNoEgress, sandbox.CodeEgressProxyLost, "an egress proxy that has ended", "a sandbox that reaches what its rules admit", "dispose the sandbox, then acquire"},
	{engine.ErrUnreachable, sandbox.CodeGuestFailed, "an engine that could not be asked", "an engine that answers", "see the underlying error"},
	{engine.ErrRefused, sandbox.CodeGuestFailed, "an engine that said no", "an engine that does its part", "see the underlying error"},
}

// mapError turns what an engine answered into a refusal about what was being
// done. The end of the caller's own context stays the context's error: it is
// nobody's refusal.
func mapError(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ended(ctx, doing)
	}
	return refusalFor(doing, err)
}

// startError is mapError, but for an engine that refused to start in words of its
// author's: those say what to change, where a failure underneath only says that one
// was.
func startError(ctx context.Context, err error) error {
	switch err.(type) { //nolint:errorlint // what lies further down are an engine's own words
	case *sandbox.Refusal, sandbox.Refusals:
		if ctx.Err() == nil {
			return err
		}
	}
	return mapError(ctx, "start a sandbox", err)
}

// ended is the error of a call whose caller's context has ended, with the cause
// if the caller gave one.
func ended(ctx context.Context, doing string) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return fmt.Errorf("%s: %w", doing, cause)
	}
	return fmt.Errorf("%s: %w: %w", doing, err, cause)
}

func refusalFor(doing string, err error) *sandbox.Refusal {
	for _, row := range engineErrors {
		if errors.Is(err, row.err) {
			return sandbox.Finding{
				Code: row.code, Found: row.found + ", to " + doing,
				Required: row.required, Remedy: row.remedy,
			}.Refusal(err)
		}
	}
	return sandbox.Finding{
		Code: sandbox.CodeGuestFailed, Found: "a failure of the engine, to " + doing,
		Required: "an engine that does its part", Remedy: "see the underlying error",
	}.Refusal(err)
}

// disposalFailure says why a sandbox may still be there.
func disposalFailure(ctx context.Context, doing string, err error) *sandbox.DisposalFailure {
	code := sandbox.DisposalUnknown
	switch {
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		code = sandbox.DisposalTimeout
	case errors.Is(err, engine.ErrUnreachable):
		code = sandbox.DisposalUnreachable
	case errors.Is(err, engine.ErrRefused), errors.Is(err, engine.ErrPermission):
		code = sandbox.DisposalRefused
	}
	return &sandbox.DisposalFailure{Code: code, Detail: doing, Err: err}
}
