package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// loopBound is how long the probes let an endless program run.
const loopBound = 500 * time.Millisecond

func runCode() Suite {
	return Suite{Name: "RUN_CODE", Gate: sandbox.CapabilityRunCode, Probes: []Probe{
		{Name: "streams-and-exit-code-are-exact", Run: func(ctx context.Context, s *Scene) error {
			result, err := s.program(ctx, s.subject.Programs.Streams, sandbox.Program{})
			if err != nil {
				return err
			}
			if text(result.Stdout) != "to stdout" || text(result.Stderr) != "to stderr" || result.ExitCode != 7 {
				return fmt.Errorf("got %q, %q and exit code %d", result.Stdout, result.Stderr, result.ExitCode)
			}
			return nil
		}},
		{Name: "standard-input-arrives", Run: func(ctx context.Context, s *Scene) error {
			result, err := s.program(ctx, s.subject.Programs.Echo, sandbox.Program{Stdin: strings.NewReader("in and out")})
			if err == nil && text(result.Stdout) != "in and out" {
				err = fmt.Errorf("got %q", result.Stdout)
			}
			return err
		}},
		{Name: "a-deadline-stops-a-loop", Run: func(ctx context.Context, s *Scene) error {
			_, err := s.program(ctx, s.subject.Programs.Loop, sandbox.Program{Timeout: loopBound})
			if errors.Is(err, errSkip) {
				return err
			}
			return refused("an endless loop", err, sandbox.ErrTimeout)
		}},
		{Name: "a-cancelled-call-is-the-callers", Run: func(ctx context.Context, s *Scene) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer time.AfterFunc(loopBound, cancel).Stop()
			_, err := s.program(ctx, s.subject.Programs.Loop, sandbox.Program{})
			switch {
			case errors.Is(err, errSkip):
				return err
			case errors.Is(err, context.Canceled):
				return nil
			}
			return fmt.Errorf("a cancelled call failed otherwise: %w", err)
		}},
		{Name: "a-flood-is-stopped-and-its-beginning-kept", Run: func(ctx context.Context, s *Scene) error {
			_, err := s.program(ctx, s.subject.Programs.Flood, sandbox.Program{Timeout: time.Minute})
			if errors.Is(err, errSkip) {
				return err
			}
			var stopped *sandbox.Stopped
			if errors.As(err, &stopped) && len(stopped.Result.Stdout) == 0 {
				return errors.New("the beginning was not kept")
			}
			return refused("a flood of output", err, sandbox.CodeGuestOutputLimit.Family())
		}},
		{Name: "globals-do-not-survive-a-call", Run: func(ctx context.Context, s *Scene) error {
			if _, err := s.program(ctx, s.subject.Programs.SetGlobal, sandbox.Program{}); err != nil {
				return err
			}
			result, err := s.program(ctx, s.subject.Programs.GetGlobal, sandbox.Program{})
			if err == nil && text(result.Stdout) != "fresh" {
				err = fmt.Errorf("got %q", result.Stdout)
			}
			return err
		}},
		{Name: "files-survive-a-call", Needs: []sandbox.Capability{sandbox.CapabilityFilesOut}, Run: func(ctx context.Context, s *Scene) error {
			if _, err := s.program(ctx, s.subject.Programs.WriteFile, sandbox.Program{}); err != nil {
				return err
			}
			return s.holds(ctx, "made.txt", []byte("from the program"))
		}},
	}}
}

func (s *Scene) program(ctx context.Context, source string, p sandbox.Program) (sandbox.ExecResult, error) {
	if source == "" {
		return sandbox.ExecResult{}, skip("without such a program in the backend's language")
	}
	p.Source = []byte(source)
	return s.RunCode(ctx, p)
}

// text is output without the newline that printing a line leaves.
func text(output []byte) string { return strings.TrimSuffix(string(output), "\n") }
