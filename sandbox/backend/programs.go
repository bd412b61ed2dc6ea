package backend

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

// Why a program was stopped, as the cause of its context.
var (
	errOwnBound    = errors.New("the call's own timeout")
	errOutputLimit = errors.New("the program's output is over its limit")
)

// Exec runs a command in the guest, without a shell, and waits for its end.
func (s *session) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.ExecResult, error) {
	if err := checkCommand(cmd); err != nil {
		return sandbox.ExecResult{}, err
	}
	dir, err := guestpath.WorkDir(s.info.WorkDir, cmd.Dir)
	if err != nil {
		return sandbox.ExecResult{}, err
	}
	execer, ok := s.guest.(engine.Execer)
	if !ok {
		return sandbox.ExecResult{}, broken("a guest that cannot exec")
	}
	input := watched(cmd.Stdin)
	return input.whole(s.run(ctx, "exec "+sandbox.Echo(cmd.Args[0]), cmd.Timeout, func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		return execer.Exec(ctx, engine.ExecRequest{
			Args: slices.Clone(cmd.Args), Dir: dir, Env: slices.Clone(cmd.Env),
			Stdin: input.reader(), Stdout: stdout, Stderr: stderr,
		})
	}))
}

// RunCode evaluates a program in the guest's language runtime, in the work
// directory.
func (s *session) RunCode(ctx context.Context, program sandbox.Program) (sandbox.ExecResult, error) {
	if err := checkProgram(program); err != nil {
		return sandbox.ExecResult{}, err
	}
	runner, ok := s.guest.(engine.CodeRunner)
	if !ok {
		return sandbox.ExecResult{}, broken("a guest that cannot run_code")
	}
	input := watched(program.Stdin)
	return input.whole(s.run(ctx, "run code", program.Timeout, func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		return runner.RunCode(ctx, engine.CodeRequest{
			Source: slices.Clone(program.Source), Args: slices.Clone(program.Args), Dir: s.info.WorkDir,
			Stdin: input.reader(), Stdout: stdout, Stderr: stderr,
		})
	}))
}

// run gives a program its bounds and tells its ends apart: its own exit, a bound
// of the call, the caller's cancellation, a failure underneath.
func (s *session) run(ctx context.Context, doing string, timeout time.Duration,
	start func(ctx context.Context, stdout, stderr io.Writer) (int, error),
) (sandbox.ExecResult, error) {
	leave, err := s.backend.calls.enter()
	if err != nil {
		return sandbox.ExecResult{}, err
	}
	defer leave()
	bounded, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if timeout > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeoutCause(bounded, timeout, errOwnBound)
		defer cancel()
	}
	limit := s.backend.settings.outputLimit
	stdout := &keptOutput{limit: limit, over: func() { stop(errOutputLimit) }}
	stderr := &keptOutput{limit: limit, over: func() { stop(errOutputLimit) }}

	code, err := start(bounded, stdout, stderr)
	result := sandbox.ExecResult{ExitCode: code}
	var cut [2]bool
	result.Stdout, cut[0] = stdout.take()
	result.Stderr, cut[1] = stderr.take()

	switch {
	case cut[0] || cut[1]:
		return stopped(result, sandbox.Finding{
			Code: sandbox.CodeGuestOutputLimit, Found: "more output than is kept, to " + doing,
			Required: "at most " + strconv.FormatInt(limit, 10) + " bytes a stream",
			Remedy:   "write long results to a file",
		}.Refusal(err))
	case err == nil:
		return result, nil
	}
	return s.endedBadly(ctx, bounded, doing, timeout, result, err)
}

// endedBadly says why a program has no exit code.
func (s *session) endedBadly(
	ctx, bounded context.Context, doing string, timeout time.Duration, result sandbox.ExecResult, err error,
) (sandbox.ExecResult, error) {
	own := errors.Is(context.Cause(bounded), errOwnBound)
	outOfTime := own || errors.Is(ctx.Err(), context.DeadlineExceeded)
	found, required := "a program still running at its caller's deadline", "an end before the deadline of the context"
	if own {
		found, required = "a program still running after "+timeout.String(), "an end within the call's timeout of "+timeout.String()
	}
	switch {
	case errors.Is(err, engine.ErrQueued) && (outOfTime || ctx.Err() == nil):
		return stopped(result, refusalFor(doing, err))
	case outOfTime:
		return stopped(result, sandbox.Finding{
			Code: sandbox.CodeGuestTimeout, Found: found + ", to " + doing,
			Required: required, Remedy: "give it more time, or less to do",
		}.Refusal(errors.Join(context.DeadlineExceeded, err)))
	case ctx.Err() != nil:
		return sandbox.ExecResult{}, ended(ctx, doing)
	case errors.Is(err, engine.ErrMemory), errors.Is(err, engine.ErrStack), errors.Is(err, engine.ErrCrashed), errors.Is(err, engine.ErrNoSpace):
		return stopped(result, refusalFor(doing, err))
	case errors.Is(err, engine.ErrNotExist):
		return sandbox.ExecResult{}, noProgram(doing, err)
	}
	return sandbox.ExecResult{}, refusalFor(doing, err)
}

func stopped(result sandbox.ExecResult, refusal *sandbox.Refusal) (sandbox.ExecResult, error) {
	result.ExitCode = -1
	return sandbox.ExecResult{}, &sandbox.Stopped{Refusal: refusal, Result: result}
}

// keptOutput keeps the beginning of a stream. The first byte over its limit fails
// the write and stops the program; after take nothing more is kept, however late
// an engine writes.
type keptOutput struct {
	limit int64
	over  func()

	mu    sync.Mutex
	kept  []byte
	cut   bool
	taken bool
}

func (k *keptOutput) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cut || k.taken {
		return 0, errOutputLimit
	}
	room := min(int64(len(p)), k.limit-int64(len(k.kept)))
	k.kept = append(k.kept, p[:room]...)
	if room < int64(len(p)) {
		k.cut = true
		k.over()
		return int(room), errOutputLimit
	}
	return len(p), nil
}

func (k *keptOutput) take() (kept []byte, cut bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.taken = true
	return k.kept, k.cut
}

func checkCommand(cmd sandbox.Command) error {
	if len(cmd.Args) == 0 || cmd.Args[0] == "" {
		return invalid(sandbox.Path("args"), "no program", "a program and its arguments", "name the program to run")
	}
	for i, arg := range cmd.Args {
		if strings.Contains(arg, "\x00") {
			return invalid(sandbox.Path("args", i), sandbox.Echo(arg), "no NUL", "pass such bytes in a file or on standard input")
		}
	}
	for i, pair := range cmd.Env {
		if name, _, ok := strings.Cut(pair, "="); !ok || name == "" || strings.Contains(pair, "\x00") {
			return invalid(sandbox.Path("env", i), sandbox.Echo(pair), "NAME=value without NUL", "write the variable as NAME=value")
		}
	}
	return checkTimeout(cmd.Timeout)
}

func checkProgram(program sandbox.Program) error {
	if !utf8.Valid(program.Source) {
		return invalid(sandbox.Path("source"), "a source that is not UTF-8", "UTF-8", "encode the program's text in UTF-8")
	}
	for i, arg := range program.Args {
		if strings.Contains(arg, "\x00") {
			return invalid(sandbox.Path("args", i), sandbox.Echo(arg), "no NUL", "pass such bytes in a file or on standard input")
		}
	}
	return checkTimeout(program.Timeout)
}

func checkTimeout(d time.Duration) error {
	if d >= 0 {
		return nil
	}
	return sandbox.Finding{
		Code: sandbox.CodeOutOfRange, Path: sandbox.Path("timeout"), Found: d.String(),
		Required: "zero or more", Remedy: "leave it at zero for the context's own deadline",
	}.Refusal(nil)
}

func invalid(path sandbox.FieldPath, found, required, remedy string) *sandbox.Refusal {
	return sandbox.Finding{
		Code: sandbox.CodeInvalidText, Path: path, Found: found, Required: required, Remedy: remedy,
	}.Refusal(nil)
}

// noProgram says of a program that did not start where one is looked for: nobody named a
// path in the work directory, as with files.
func noProgram(doing string, err error) *sandbox.Refusal {
	return sandbox.Finding{
		Code: sandbox.CodeFileNotFound, Found: "no such program in the sandbox, or no such directory to run it in, to " + doing,
		Required: "a program in a directory of the sandbox's PATH, or its path",
		Remedy:   "name a program that the sandbox has, or upload it and name its path",
	}.Refusal(err)
}
