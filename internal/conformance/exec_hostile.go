package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// badPrograms are programs that behave badly, each in its own way, and what a host
// is told of them. The sandbox works after each.
func badPrograms() Suite {
	return Suite{Name: "EXEC_HOSTILE", Gate: sandbox.CapabilityExec, Probes: fromWithin([]Probe{
		{Name: "a-command-that-does-not-exist", Run: func(ctx context.Context, s *Scene) error {
			return s.noProgram(ctx, "/no/such/program")
		}},
		{Name: "a-command-that-is-a-directory", Run: func(ctx context.Context, s *Scene) error { return s.noProgram(ctx, s.work) }},
		{Name: "a-command-that-is-no-program", Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.mustWrite(ctx, "text", "neither a script nor a program"), s.noProgram(ctx, s.work+"/text"))
		}},
		{Name: "no-command-at-all", Run: func(ctx context.Context, s *Scene) error {
			var errs []error
			for _, cmd := range []sandbox.Command{
				{},
				{Args: []string{""}},
				{Args: []string{"x", "a\x00b"}},
				{Args: []string{"x"}, Env: []string{"no equals sign"}},
				{Args: []string{"x"}, Env: []string{"=x"}},
				{Args: []string{"x"}, Timeout: -1},
			} {
				_, err := s.Exec(ctx, cmd)
				errs = append(errs, refused(fmt.Sprintf("%+v", cmd), err, sandbox.ErrValue))
			}
			return errors.Join(errs...)
		}},
		{Name: "dying-by-a-signal-is-a-result", Run: func(ctx context.Context, s *Scene) error {
			result, err := s.run(ctx, sandbox.Command{Args: []string{"abort"}})
			if err == nil && result.ExitCode == 0 {
				err = errors.New("a program that was killed ended with 0")
			}
			return errors.Join(err, s.stillWorks(ctx))
		}},
		{Name: "forking-away-holds-no-call", Run: func(ctx context.Context, s *Scene) error {
			begun := time.Now()
			result, err := s.run(ctx, sandbox.Command{Args: []string{"away"}})
			if took := time.Since(begun); took > 5*time.Second {
				return fmt.Errorf("a child that holds the streams held the call for %s", took.Round(time.Millisecond))
			}
			_, err = outcomeOf([]string{"away"}, result, err)
			if err == nil {
				_, err = s.do(ctx, "nothing")
			}
			return err
		}},
		{Name: "forking-away-stays-in-its-sandbox", Run: forksAway},
		{Name: "closing-every-stream-is-no-end", Run: func(ctx context.Context, s *Scene) error {
			result, err := s.run(ctx, sandbox.Command{Args: []string{"closed"}})
			if err == nil && result.ExitCode != 3 {
				err = fmt.Errorf("exit code %d instead of 3", result.ExitCode)
			}
			return errors.Join(err, s.stillWorks(ctx))
		}},
		{Name: "flooding-both-streams-is-stopped", Run: func(ctx context.Context, s *Scene) error {
			_, err := s.run(ctx, sandbox.Command{Args: []string{"flood"}})
			if wrong := coded("a flood of output", err, sandbox.CodeGuestOutputLimit); wrong != nil {
				return wrong
			}
			var kept *sandbox.Stopped
			if !errors.As(err, &kept) || !strings.HasPrefix(string(kept.Result.Stdout)+string(kept.Result.Stderr), "0123456789abcdef") {
				return errors.New("the beginning of the flood was not kept")
			}
			return s.stillWorks(ctx)
		}},
		{Name: "ignoring-signals-is-no-way-out", Run: func(ctx context.Context, s *Scene) error { return s.stopped(ctx, "stubborn", "3600") }},
		{Name: "stopping-itself-is-no-way-out", Run: func(ctx context.Context, s *Scene) error { return s.stopped(ctx, "stop") }},
		{Name: "unread-input-holds-no-call", Run: func(ctx context.Context, s *Scene) error {
			result, err := s.run(ctx, sandbox.Command{Args: []string{"exit", "5"}, Stdin: zeros{}})
			if err == nil && result.ExitCode != 5 {
				err = fmt.Errorf("exit code %d instead of 5", result.ExitCode)
			}
			return errors.Join(err, s.stillWorks(ctx))
		}},
		{Name: "input-that-fails-does-not-end-well", Run: func(ctx context.Context, s *Scene) error {
			broken := errors.New("the source failed")
			_, err := s.run(ctx, sandbox.Command{Args: []string{"cat"}, Stdin: failing{broken}})
			if err == nil {
				return errors.New("input that failed was passed off as whole")
			}
			return s.stillWorks(ctx)
		}},
	})}
}

// forksAway leaves a program behind in a session of its own. It may go on in its
// sandbox, as one that serves others does; another sandbox does not see it, and it
// goes with its own.
func forksAway(ctx context.Context, s *Scene) error {
	other, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Key.Thread += "/neighbour" })
	if err != nil {
		return err
	}
	if _, err := s.do(ctx, "away"); err != nil {
		return err
	}
	if err := other.attack(ctx, "processes", processNamespace()); err != nil {
		return fmt.Errorf("in another sandbox: %w", err)
	}
	if err := s.dispose(ctx); err != nil {
		return err
	}
	next, _, err := s.neighbour(ctx, func(*sandbox.AcquireRequest) {})
	if err != nil {
		return err
	}
	if err := next.attack(ctx, "processes", processNamespace()); err != nil {
		return fmt.Errorf("in the next sandbox of the key: %w", err)
	}
	return nil
}

// noProgram checks what becomes of a command that cannot be started: an error or a
// shell's exit code, never success, and never the loss of the sandbox.
func (s *Scene) noProgram(ctx context.Context, name string) error {
	result, err := s.Exec(ctx, sandbox.Command{Args: []string{name}, Timeout: execBound})
	switch {
	case err == nil && result.ExitCode != 126 && result.ExitCode != 127:
		return fmt.Errorf("%s ended with %d", name, result.ExitCode)
	case err != nil:
		if wrong := refused("starting "+name, err, sandbox.ErrOS, sandbox.ErrValue); wrong != nil {
			return wrong
		}
	}
	return s.stillWorks(ctx)
}

// zeros is input without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
