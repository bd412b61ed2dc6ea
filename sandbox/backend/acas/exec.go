package acas

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/frame"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

const (
	// maxStream bounds what is carried of one stream: both have to fit into one answer
	// of 8 MiB, in base64.
	maxStream = 2 << 20
	// maxStdin bounds what a program is given to read.
	maxStdin = 16 << 20
	// maxCommand is what Linux takes as one argument, which the script is to a shell.
	maxCommand = 128<<10 - 1
	// killed is the least exit code of a shell that a signal ended.
	killed = 128
)

var _ engine.Execer = (*guest)(nil)

// Exec runs a program and waits for its end. The service carries text, so that a
// script in the guest puts the streams into base64, for which the guest needs sh,
// base64 and head. They come when the program has ended, and the service gives up on
// one that runs for longer than some 230 seconds.
//
// Nothing stops a program in the guest but the end of its sandbox. When its end is not
// seen, because ctx ended or the answer was lost, the sandbox is deleted, and
// everything after is [engine.ErrGone].
func (g *guest) Exec(ctx context.Context, cmd engine.ExecRequest) (int, error) {
	if err := g.alive(ctx); err != nil {
		return 0, err
	}
	token := rand.Text()
	if len(cmd.Env) > 0 && strings.Contains(cmd.Args[0], "=") {
		return 0, fmt.Errorf("a program with = in its name is not run with variables: %w", engine.ErrRefused)
	}
	stdin, remove, err := g.stdin(ctx, cmd.Stdin, token)
	if err != nil {
		return 0, err
	}
	defer remove()
	script := frame.Script(frame.Program{Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: stdin, Token: token}, maxStream+1)
	if len(script) > maxCommand {
		return 0, fmt.Errorf("the command is %d bytes as a script, and at most %d are taken: %w", len(script), maxCommand, engine.ErrRefused)
	}
	result, err := g.sandbox.ExecShell(ctx, wire.ShellCommand{Command: script, WorkingDirectory: "/"})
	if err != nil {
		return 0, g.unseen(ctx, err)
	}
	return answered(result, token, cmd)
}

// unseen ends a sandbox in which a program may run that nobody waits for.
func (g *guest) unseen(ctx context.Context, err error) error {
	lost := acasapi.ErrorOf(err)
	ran := ctx.Err() != nil || lost == nil || errors.Is(err, sandbox.CodeServiceOutcomeUnknown) || errors.Is(err, sandbox.CodeServiceTimeout) || errors.Is(err, sandbox.CodeServiceTooLarge)
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

// stdin puts what a program reads where it can read it. Names are random, so nobody
// has put a link there.
func (g *guest) stdin(ctx context.Context, from io.Reader, token string) (path string, remove func(), err error) {
	if from == nil {
		return frame.NoStdin, func() {}, nil
	}
	input, err := io.ReadAll(io.LimitReader(from, maxStdin+1))
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("read the program's input: %w", err)
	case len(input) > maxStdin:
		return "", nil, fmt.Errorf("the program's input is over %d bytes: %w", maxStdin, engine.ErrRefused)
	case len(input) == 0:
		return frame.NoStdin, func() {}, nil
	}
	path = "/tmp/.sandbox-in-" + token
	if err := g.sandbox.WriteFile(ctx, path, bytes.NewReader(input), acasapi.Writing{Size: int64(len(input)), NoDirs: true}); err != nil {
		return "", nil, g.fileError(ctx, "write", path, err)
	}
	return path, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		if !g.engine.isLost(g.ID()) {
			_ = g.sandbox.DeleteFile(ctx, path, false) // it is the guest's own to read, and goes with it
		}
	}, nil
}

// answered reads what the script left.
func answered(result wire.ExecResult, token string, cmd engine.ExecRequest) (int, error) {
	before, word, found := strings.Cut(result.Stdout, token+" ")
	word = strings.TrimSpace(word)
	switch {
	case !found && result.ExitCode != nil && *result.ExitCode < killed:
		return 0, fmt.Errorf("what the image has for /bin/sh ended with %d and did not run the script that carries a program; it has to be a POSIX shell: %w", *result.ExitCode, engine.ErrRefused)
	case !found:
		return 0, fmt.Errorf("run a program: the guest's shell did not come to its end: %w", engine.ErrCrashed)
	case word == frame.NoDir:
		return 0, fmt.Errorf("go to %s: %w", sandbox.Echo(cmd.Dir), engine.ErrNotDirectory)
	case word == frame.NoTools:
		return 0, fmt.Errorf("the image lacks base64 or head, which carry what a program writes: %w", engine.ErrRefused)
	}
	code, err := strconv.ParseUint(word, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("run a program: the guest's shell said %s for an exit code: %w", sandbox.Echo(word), engine.ErrCrashed)
	}
	if err := pass(before, cmd.Stdout); err != nil {
		return 0, err
	}
	return int(code), pass(result.Stderr, cmd.Stderr)
}

// pass writes a stream on.
func pass(encoded string, to io.Writer) error {
	plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	if err != nil {
		return fmt.Errorf("read a program's output: it is not what the script wrote: %w", engine.ErrCrashed)
	}
	if to != nil {
		if _, err := to.Write(plain[:min(len(plain), maxStream)]); err != nil {
			return err
		}
	}
	if len(plain) > maxStream {
		return fmt.Errorf("a program wrote over %d bytes to a stream, which is more than the service carries: %w", maxStream, engine.ErrNoSpace)
	}
	return nil
}
