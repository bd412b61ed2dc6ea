package guestagent

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// The agent's answers that the engine seam has no word for.
var (
	// ErrProcesses: the guest may have no more processes.
	ErrProcesses = errors.New("the guest has no room for another process")
	// ErrNotProgram: the file is executable and nothing that the kernel can run.
	ErrNotProgram = errors.New("the file is not a program that the guest can run")
	// ErrTooLong: arguments and environment are more than a guest's kernel takes.
	ErrTooLong = errors.New("arguments and environment are too long")
	// ErrBusy: somebody in the guest holds the file, or the agent all it may.
	ErrBusy = errors.New("busy in the guest")
)

// ErrUnanswered is joined to the context's error when the agent did not say in
// time that it ended what was cancelled, so that it may still come about.
var ErrUnanswered = errors.New("the guest agent did not say that it stopped")

// outcomeErrors is what the agent's answers are in the engine's words.
var outcomeErrors = map[wire.Status]error{
	wire.StatusNotExist:     engine.ErrNotExist,
	wire.StatusNotDirectory: engine.ErrNotDirectory,
	wire.StatusIsDirectory:  engine.ErrIsDirectory,
	wire.StatusNotRegular:   engine.ErrNotRegular,
	wire.StatusThroughLink:  engine.ErrThroughLink,
	wire.StatusNoSpace:      engine.ErrNoSpace,
	wire.StatusPermission:   engine.ErrPermission,
	wire.StatusSize:         engine.ErrSize,
	wire.StatusMemory:       engine.ErrMemory,
	wire.StatusProcesses:    ErrProcesses,
	wire.StatusNotProgram:   ErrNotProgram,
	wire.StatusTooLong:      ErrTooLong,
	wire.StatusBusy:         ErrBusy,
	wire.StatusInvalid:      errors.New("the guest agent cannot do that"),
}

// outcomeError is the error of a call that did not end well. ctx is what could
// have cancelled it.
func outcomeError(ctx context.Context, o wire.Outcome) error {
	if o.Status == wire.StatusCancelled {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return errors.New("the guest agent ended the call")
	}
	err, known := outcomeErrors[o.Status]
	if !known {
		err = fmt.Errorf("the guest's kernel answered error %d", o.Errno)
	}
	if o.Dir {
		return fmt.Errorf("enter its working directory: %w", err)
	}
	return err
}

// queued is the error of a call that did not begin before its context ended.
func queued(ctx context.Context) error {
	return errors.Join(engine.ErrQueued, context.Cause(ctx))
}
