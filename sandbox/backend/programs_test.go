package backend_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// scriptedExec runs a command as a script for [sandboxtest.Script].
func scriptedExec(ctx context.Context, fs *sandboxtest.View, req engine.ExecRequest) (int, error) {
	return sandboxtest.Script(ctx, fs, engine.CodeRequest{
		Source: []byte(req.Args[len(req.Args)-1]), Dir: req.Dir, Stdin: req.Stdin, Stdout: req.Stdout, Stderr: req.Stderr,
	})
}

// runner runs a script for [sandboxtest.Script].
type runner func(ctx context.Context, script string, timeout time.Duration) (sandbox.ExecResult, error)

// everyWay starts a stage whose scripts run by exec or by run_code.
func everyWay() map[string]func(*testing.T, ...backend.Option) (*stage, runner) {
	options := sandboxtest.Options{Exec: scriptedExec, RunCode: sandboxtest.Script}
	return map[string]func(*testing.T, ...backend.Option) (*stage, runner){
		"exec": func(t *testing.T, settings ...backend.Option) (*stage, runner) {
			t.Helper()
			s := newStage(t, options, settings...)
			return s, func(ctx context.Context, script string, timeout time.Duration) (sandbox.ExecResult, error) {
				return s.Exec(ctx, sandbox.Command{Args: []string{"script", script}, Timeout: timeout})
			}
		},
		"run_code": func(t *testing.T, settings ...backend.Option) (*stage, runner) {
			t.Helper()
			s := newStage(t, options, settings...)
			return s, func(ctx context.Context, script string, timeout time.Duration) (sandbox.ExecResult, error) {
				return s.RunCode(ctx, sandbox.Program{Source: []byte(script), Timeout: timeout})
			}
		},
	}
}

func TestAResultIsByteExact(t *testing.T) {
	t.Parallel()
	for way, start := range everyWay() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			_, run := start(t)
			got, err := run(t.Context(), "out \xff\x00one\nerr two\nexit 7", time.Minute)
			if err != nil || string(got.Stdout) != "\xff\x00one" || string(got.Stderr) != "two" || got.ExitCode != 7 {
				if !errors.Is(err, sandbox.CodeInvalidText) { // run_code takes UTF-8 only
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
	}
}

func TestOutputOverItsLimitStopsTheProgramAndKeepsItsBeginning(t *testing.T) {
	t.Parallel()
	for way, start := range everyWay() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			_, run := start(t, backend.WithOutputLimit(8))
			got, err := run(t.Context(), "out 12345678", 0)
			if err != nil || string(got.Stdout) != "12345678" {
				t.Fatalf("output of exactly the limit: %+v, %v", got, err)
			}
			for _, script := range []string{"err kept\nout 123456789", "err kept\nflood", "out \nerr kept\nflood\nloop"} {
				_, err = run(t.Context(), script, 0)
				wantCode(t, err, sandbox.CodeGuestOutputLimit)
				var stopped *sandbox.Stopped
				if !errors.As(err, &stopped) || len(stopped.Result.Stdout) != 8 || string(stopped.Result.Stderr) != "kept" || stopped.Result.ExitCode != -1 {
					t.Errorf("%q: kept %+v", script, stopped)
				}
			}
		})
	}
}

func TestTheCallsOwnBoundAndTheCallersCancellationAreToldApart(t *testing.T) {
	t.Parallel()
	for way, start := range everyWay() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			_, run := start(t)
			_, err := run(t.Context(), "out begun\nloop", time.Millisecond)
			wantCode(t, err, sandbox.CodeGuestTimeout)
			var stopped *sandbox.Stopped
			if !errors.As(err, &stopped) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}

			late, cancel := context.WithDeadline(t.Context(), time.Now())
			defer cancel()
			_, err = run(late, "loop", 0)
			wantCode(t, err, sandbox.CodeGuestTimeout)

			why := errors.New("the user went away")
			ctx, stop := context.WithCancelCause(t.Context())
			stop(why)
			_, err = run(ctx, "loop", time.Hour)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, why) || sandbox.RefusalOf(err) != nil {
				t.Errorf("got %v, want the caller's own cancellation and no refusal", err)
			}
		})
	}
}

func TestAnEnginesOwnEndsAreToldApart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		code sandbox.Code
	}{
		"still queued":  {engine.ErrQueued, sandbox.CodeGuestQueuedTimeout},
		"no egress":     {engine.ErrNoEgress, sandbox.CodeEgressProxyLost},
		"out of memory": {engine.ErrMemory, sandbox.CodeGuestMemoryLimit},
		"out of stack":  {engine.ErrStack, sandbox.CodeGuestStackLimit},
		"crashed":       {engine.ErrCrashed, sandbox.CodeGuestCrashed},
		"disk full":     {engine.ErrNoSpace, sandbox.CodeGuestStorageLimit},
		"gone":          {engine.ErrGone, sandbox.CodeGuestLost},
		"no such dir":   {engine.ErrNotExist, sandbox.CodeFileNotFound},
		"anything":      {errHostile, sandbox.CodeGuestFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, start := range everyWay() {
				t.Run(way, func(t *testing.T) {
					t.Parallel()
					s, run := start(t)
					s.engine.FailNth(sandboxtest.OpExec, 1, test.err)
					s.engine.FailNth(sandboxtest.OpRunCode, 1, test.err)
					_, err := run(t.Context(), "out x", time.Minute)
					wantCode(t, err, test.code)
					_, err = run(t.Context(), "out x", time.Minute)
					must(t, err)
				})
			}
		})
	}
}

// A program that is not there was looked for in PATH, and no directory of files tells
// why.
func TestAProgramThatIsNotThereIsNoFileOfTheWorkDirectory(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{Access: rootFollows, RunCode: sandboxtest.Script, Exec: func(context.Context, *sandboxtest.View, engine.ExecRequest) (int, error) {
		return 0, engine.ErrNotExist
	}})
	_, err := s.Exec(t.Context(), sandbox.Command{Args: []string{"nosuch"}})
	wantCode(t, err, sandbox.CodeFileNotFound)
	if r := sandbox.RefusalOf(err); r == nil || !strings.Contains(r.Required, "PATH") || strings.Contains(r.Remedy, "list the directory") {
		t.Errorf("%+v", r)
	}
	_, _, err = s.Open(t.Context(), "nosuch", 10)
	wantCode(t, err, sandbox.CodeFileNotFound)
	if r := sandbox.RefusalOf(err); r == nil || !strings.Contains(r.Remedy, "list the directory") {
		t.Errorf("%+v", r)
	}
}

func TestAFrozenGuestRunsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{Access: rootFollows, Freeze: true, RunCode: sandboxtest.Script})
	must(t, s.write(t, "f", "text"))
	r, _, err := s.Open(t.Context(), "f", 10)
	must(t, err)
	_, err = s.RunCode(t.Context(), sandbox.Program{Source: []byte("write f changed"), Timeout: time.Millisecond})
	wantCode(t, err, sandbox.CodeGuestQueuedTimeout)
	if got, err := drain(r); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	_, err = s.RunCode(t.Context(), sandbox.Program{Source: []byte("write f changed")})
	must(t, err)
}

func TestCommandsThatNoProgramCanReceiveAreRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{Exec: scriptedExec, RunCode: sandboxtest.Script})
	_, err := s.Exec(t.Context(), sandbox.Command{Args: []string{"script", "out fine"}, Dir: "sub", Env: []string{"A=b", "C="}})
	must(t, err)
	before := len(s.engine.Requests())
	for name, test := range map[string]struct {
		cmd  sandbox.Command
		code sandbox.Code
	}{
		"no program":             {sandbox.Command{}, sandbox.CodeInvalidText},
		"an empty program":       {sandbox.Command{Args: []string{""}}, sandbox.CodeInvalidText},
		"a NUL":                  {sandbox.Command{Args: []string{"a", "b\x00c"}}, sandbox.CodeInvalidText},
		"a variable that is not": {sandbox.Command{Args: []string{"a"}, Env: []string{"A"}}, sandbox.CodeInvalidText},
		"a nameless variable":    {sandbox.Command{Args: []string{"a"}, Env: []string{"=b"}}, sandbox.CodeInvalidText},
		"a NUL in a variable":    {sandbox.Command{Args: []string{"a"}, Env: []string{"A=\x00"}}, sandbox.CodeInvalidText},
		"a directory outside":    {sandbox.Command{Args: []string{"a"}, Dir: "../x"}, sandbox.CodePathOutside},
		"a negative timeout":     {sandbox.Command{Args: []string{"a"}, Timeout: -1}, sandbox.CodeOutOfRange},
	} {
		_, err := s.Exec(t.Context(), test.cmd)
		if !errors.Is(err, test.code) {
			t.Errorf("%s: got %v, want %s", name, err, test.code)
		}
	}
	_, err = s.RunCode(t.Context(), sandbox.Program{Source: []byte("\xff")})
	wantCode(t, err, sandbox.CodeInvalidText)
	_, err = s.RunCode(t.Context(), sandbox.Program{Args: []string{"\x00"}})
	wantCode(t, err, sandbox.CodeInvalidText)
	if after := len(s.engine.Requests()); after != before {
		t.Errorf("the engine was asked %d times", after-before)
	}
}

func TestWhatWasNotAcquiredIsUnsupported(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{Exec: scriptedExec})
	s := &stage{engine: e, backend: sandboxtest.Backend(t, e), request: request(e)}
	only := sandbox.SetOf(sandbox.CapabilityFilesIn)
	s.request.Spec.Requires = &only
	s.Session = s.acquire(t, s.request).Session
	_, err := s.Exec(t.Context(), sandbox.Command{Args: []string{"a"}})
	wantCode(t, err, sandbox.CodeUnsupported)
	_, err = s.read(t, "f")
	wantCode(t, err, sandbox.CodeUnsupported)
	must(t, s.write(t, "f", "x"))
}

// late is a program that goes on writing after it has returned.
func TestWhatAnEngineWritesTooLateIsNotKept(t *testing.T) {
	t.Parallel()
	var kept io.Writer
	s := newStage(t, sandboxtest.Options{RunCode: func(_ context.Context, _ *sandboxtest.View, req engine.CodeRequest) (int, error) {
		kept = req.Stdout
		_, err := io.WriteString(req.Stdout, "in time")
		return 0, err
	}})
	got, err := s.RunCode(t.Context(), sandbox.Program{})
	must(t, err)
	if _, err := io.WriteString(kept, strings.Repeat("late", 10)); err == nil {
		t.Error("a late write was taken")
	}
	if string(got.Stdout) != "in time" {
		t.Errorf("%q", got.Stdout)
	}
}
