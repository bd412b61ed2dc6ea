package acasapi

import (
	"context"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// ExecShell runs a command in the guest's shell and waits for it; the service gives
// up near 230 seconds while the command goes on. It runs once at most: only a 403 is
// followed by a second request, since that answer comes before anything is run. After
// a lost answer the error is service.outcome_unknown, and the command may have run.
func (s *Sandbox) ExecShell(ctx context.Context, command wire.ShellCommand) (wire.ExecResult, error) {
	if err := s.checkCommand(command.Command, command.WorkingDirectory); err != nil {
		return wire.ExecResult{}, err
	}
	c := s.call(wire.ExecShell)
	c.body = command
	return s.exec(ctx, c)
}

// ExecCommand runs a program without a shell, and else is as ExecShell.
func (s *Sandbox) ExecCommand(ctx context.Context, command wire.Command) (wire.ExecResult, error) {
	if err := s.checkCommand(command.Command, command.WorkingDirectory); err != nil {
		return wire.ExecResult{}, err
	}
	c := s.call(wire.ExecCommand)
	c.body = command
	return s.exec(ctx, c)
}

func (s *Sandbox) checkCommand(command, dir string) error {
	if command == "" || strings.ContainsRune(command, 0) {
		return refusal(sandbox.CodeInvalidText, s.object(), "a command that is empty or holds a NUL", "a command", "")
	}
	if dir != "" {
		return checkPath(s.object(), dir)
	}
	return nil
}

func (s *Sandbox) exec(ctx context.Context, c call) (wire.ExecResult, error) {
	a, err := s.plane().send(ctx, c)
	if err != nil {
		return wire.ExecResult{}, once(err)
	}
	result, err := readWith(s.plane(), a, func(b []byte) (wire.ExecResult, error) {
		var r wire.ExecResult
		err := wire.DecodeText(b, &r)
		return r, err
	}, (*wire.ExecResult).Check)
	return result, once(err)
}
