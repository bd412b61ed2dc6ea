package acas

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/frame"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

const (
	// maxStream bounds what is carried of one stream: both have to fit into one answer
	// of 8 MiB, in base64.
	maxStream = 2 << 20
	// maxCommand is what Linux takes as one argument, which the script is to a shell.
	maxCommand = 128<<10 - 1
	// killed is the least exit code of a shell that a signal ended.
	killed = 128
)

var _ engine.Execer = (*guest)(nil)

// Exec runs a program and waits for its end. The service carries text, so that a
// script in the guest keeps the streams in files and puts them into base64, for which
// the guest needs sh, base64, head, rm and a /tmp that its user can write to. They come
// when the program has ended, and the service gives up on one that runs for longer than
// some 230 seconds.
//
// When ctx ends, or a stream is larger than is carried, a second command ends the
// program, and what it had written until then comes. When its end is not seen, because
// it cannot be ended or the answer was lost, the sandbox is deleted, and everything
// after is [engine.ErrGone].
func (g *guest) Exec(ctx context.Context, cmd engine.ExecRequest) (int, error) {
	if err := g.alive(ctx); err != nil {
		return 0, err
	}
	token := rand.Text()
	if len(cmd.Env) > 0 && strings.Contains(cmd.Args[0], "=") {
		return 0, fmt.Errorf("a program with = in its name is not run with variables: %w", engine.ErrRefused)
	}
	in, err := g.stdin(ctx, cmd.Stdin, token)
	if err != nil {
		return 0, err
	}
	defer in.remove()
	script := frame.Script(frame.Program{Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: in.path, Taken: in.taken, Token: token}, maxStream+1)
	if len(script) > maxCommand {
		return 0, fmt.Errorf("the command is %d bytes as a script, and at most %d are taken: %w", len(script), maxCommand, engine.ErrRefused)
	}
	result, err := g.ended(ctx, script, token)
	if err != nil {
		return 0, g.unseen(ctx, err)
	}
	code, err := answered(result, token, cmd, in)
	if errors.Is(err, engine.ErrCrashed) {
		stdout, stderr := frame.Outputs(token)
		g.forget(ctx, stdout, stderr) // which the script has not
	}
	if ctx.Err() != nil {
		return 0, errors.Join(context.Cause(ctx), err)
	}
	return code, err
}

// unseen ends a sandbox in which a program may run that nobody waits for.
func (g *guest) unseen(ctx context.Context, err error) error {
	// What was refused before a request was sent, by a sign-in that failed or for the
	// command itself, has none of these codes, and leaves the sandbox as it is.
	ran := ctx.Err() != nil || errors.Is(err, errNotEnded) || errors.Is(err, sandbox.CodeServiceOutcomeUnknown) || errors.Is(err, sandbox.CodeServiceTimeout) || errors.Is(err, sandbox.CodeServiceTooLarge)
	if !ran {
		if errors.Is(err, sandbox.CodeServiceNotFound) {
			return fmt.Errorf("run a program: %w: %w", engine.ErrGone, err)
		}
		return engineError("run a program", err)
	}
	g.engine.lose(g.ID())
	if left := g.engine.discard(ctx, g.ID()); left != nil {
		err = errors.Join(err, left)
	}
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return fmt.Errorf("run a program: %w: %w", engine.ErrGone, err)
}
