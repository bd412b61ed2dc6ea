package mutants_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// wraps changes how a real engine starts and how its guests run programs.
type wraps struct {
	*process.Engine
	ask  func(req *engine.StartRequest)
	exec func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error)
}

func (w *wraps) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	if w.ask != nil {
		w.ask(&req)
	}
	started, err := w.Engine.Start(ctx, req)
	if err == nil && w.exec != nil {
		run, ok := started.Guest.(engine.Execer)
		if !ok {
			return started, errors.New("a guest without exec")
		}
		started.Guest = execGuest{started.Guest, run, w.exec}
	}
	return started, err
}

type execGuest struct {
	engine.Guest
	run    engine.Execer
	change func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error)
}

func (g execGuest) Exec(ctx context.Context, req engine.ExecRequest) (int, error) {
	return g.change(ctx, g.run, req)
}

// execMutants are a real engine that runs programs a little differently.
func execMutants() []mutant {
	// Probes that have to notice are named one after another.
	exec := func(name, by string, change func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error)) mutant {
		probes := strings.Fields(by)
		return mutant{name: name, by: probes[0], also: probes[1:], make: func(t *testing.T) conformance.Subject {
			t.Helper()
			return overProcess(t, config(t), func(e *process.Engine) *wraps { return &wraps{Engine: e, exec: change} })
		}}
	}
	var (
		mu  sync.Mutex
		env []string
		one sync.Mutex
	)
	return []mutant{
		exec("streams are merged", "EXEC/streams-stay-separate-and-exact", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			req.Stderr = req.Stdout
			return run.Exec(ctx, req)
		}),
		exec("streams are text", "EXEC/streams-stay-separate-and-exact", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			req.Stdout = replacing{req.Stdout}
			return run.Exec(ctx, req)
		}),
		exec("output is cut without a word", "EXEC/large-streams-are-whole", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			req.Stdout = &silent{w: req.Stdout, left: 100_000}
			return run.Exec(ctx, req)
		}),
		exec("exit codes are lost", "EXEC/exit-codes-are-exact EXEC_HOSTILE/unread-input-holds-no-call", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			_, err := run.Exec(ctx, req)
			return 0, err
		}),
		exec("exit codes are signed", "EXEC/exit-codes-are-exact", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			code, err := run.Exec(ctx, req)
			return int(int8(code)), err
		}),
		exec("input is ignored", "EXEC/standard-input-arrives EXEC_HOSTILE/input-that-fails-does-not-end-well", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			req.Stdin = nil
			return run.Exec(ctx, req)
		}),
		exec("no input is waited for", "EXEC/no-standard-input-is-an-empty-one", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			if req.Stdin == nil && req.Args[len(req.Args)-1] == "cat" {
				req.Stdin = strings.NewReader("nobody gave this")
			}
			return run.Exec(ctx, req)
		}),
		exec("arguments are split at spaces", "EXEC/arguments-arrive-as-they-are", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			req.Args = append(req.Args[:1:1], strings.Fields(strings.Join(req.Args[1:], " "))...)
			return run.Exec(ctx, req)
		}),
		exec("the directory is ignored", "EXEC/a-directory-below-is-honoured", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			req.Dir = strings.TrimSuffix(req.Dir, "/below")
			return run.Exec(ctx, req)
		}),
		exec("programs start elsewhere", "EXEC/the-work-directory-is-where-it-runs STORAGE_BASE/programs-see-the-same-files", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			if strings.HasSuffix(req.Dir, "/work") {
				req.Dir = "/"
			}
			return run.Exec(ctx, req)
		}),
		exec("variables outlive their call", "EXEC/the-environment-is-what-was-given", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			mu.Lock()
			env = append(env, req.Env...)
			req.Env = append([]string{}, env...)
			mu.Unlock()
			return run.Exec(ctx, req)
		}),
		exec("the host's variables are given", "EXEC/nothing-of-the-host-is-inherited", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			req.Env = append([]string{"SANDBOX_CONFORMANCE_CANARY=inherited"}, req.Env...)
			return run.Exec(ctx, req)
		}),
		exec("a program past its deadline ended well", "EXEC/a-deadline-stops-a-program EXEC/a-callers-deadline-stops-a-program EXEC/a-cancelled-call-ends-its-program "+
			"EXEC_HOSTILE/ignoring-signals-is-no-way-out EXEC_HOSTILE/stopping-itself-is-no-way-out NOTHING_LEFT_BEHIND/a-stopped-call-leaves-no-program", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			code, err := run.Exec(ctx, req)
			if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || err != nil && ctx.Err() != nil {
				return 0, nil //nolint:nilerr // that is what is wrong with it
			}
			return code, err
		}),
		exec("one program at a time, and the next finds the first's input", "EXEC/programs-run-beside-each-other", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			if !one.TryLock() {
				return 0, engine.ErrRefused
			}
			defer one.Unlock()
			return run.Exec(ctx, req)
		}),
		exec("death by a signal is success", "EXEC_HOSTILE/dying-by-a-signal-is-a-result", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			code, err := run.Exec(ctx, req)
			if code >= 128 && req.Args[len(req.Args)-1] == "abort" {
				return 0, err
			}
			return code, err
		}),
		exec("what cannot start ended well", "EXEC_HOSTILE/a-command-that-does-not-exist EXEC_HOSTILE/a-command-that-is-a-directory EXEC_HOSTILE/a-command-that-is-no-program", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			if code, err := run.Exec(ctx, req); ctx.Err() != nil || err == nil && code != 126 && code != 127 {
				return code, err
			}
			return 0, nil
		}),
		exec("a call waits for whoever holds its streams", "EXEC_HOSTILE/forking-away-holds-no-call", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			code, err := run.Exec(ctx, req)
			if req.Args[len(req.Args)-1] == "away" {
				waiting, stop := context.WithTimeout(ctx, 6*time.Second)
				defer stop()
				<-waiting.Done()
			}
			return code, err
		}),
		exec("what a program makes is gone after its call", "EXEC/files-survive-a-call", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			code, err := run.Exec(ctx, req)
			if n := len(req.Args); n == 3 && req.Args[1] == "write" {
				return run.Exec(ctx, engine.ExecRequest{Args: []string{req.Args[0], "remove", req.Args[2]}, Dir: req.Dir, Stdout: io.Discard, Stderr: io.Discard})
			}
			return code, err
		}),
		exec("a program stays after every call", "NOTHING_LEFT_BEHIND/a-call-leaves-no-program", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			code, err := run.Exec(ctx, req)
			if len(req.Args) == 2 && req.Args[1] == "nothing" {
				_, _ = run.Exec(ctx, engine.ExecRequest{Args: []string{req.Args[0], "away"}, Dir: req.Dir, Stdout: io.Discard, Stderr: io.Discard})
			}
			return code, err
		}),
		exec("closed streams are the end", "EXEC_HOSTILE/closing-every-stream-is-no-end", func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
			code, err := run.Exec(ctx, req)
			if req.Args[len(req.Args)-1] == "closed" {
				return 0, err
			}
			return code, err
		}),
	}
}

// replacing writes text, with what is no UTF-8 replaced.
type replacing struct{ w io.Writer }

func (r replacing) Write(p []byte) (int, error) {
	_, err := io.WriteString(r.w, strings.ToValidUTF8(string(p), "\ufffd"))
	return len(p), err
}

// silent takes so many bytes and drops the rest.
type silent struct {
	w    io.Writer
	mu   sync.Mutex
	left int
}

func (s *silent) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(p), s.left)
	s.left -= n
	if _, err := s.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
