package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// nothingLeftBehind is about what a call leaves in its sandbox, a sandbox on its
// machine, and an acquire that failed anywhere.
func nothingLeftBehind() Suite {
	in, exec := sandbox.CapabilityFilesIn, sandbox.CapabilityExec
	tells := func(s Subject) string {
		if s.Left == nil {
			return "without a way to list what the machine holds"
		}
		return ""
	}
	return Suite{Name: "NOTHING_LEFT_BEHIND", Probes: []Probe{
		{Name: "a-call-leaves-no-program", Needs: []sandbox.Capability{exec, in}, Run: func(ctx context.Context, s *Scene) error {
			for _, args := range [][]string{{"nothing"}, {"exit", "3"}, {"abort"}} {
				if _, err := s.run(ctx, sandbox.Command{Args: args}); err != nil {
					return err
				}
			}
			return s.attack(ctx, "processes", processNamespace())
		}},
		{Name: "a-stopped-call-leaves-no-program", Needs: []sandbox.Capability{exec, in}, Run: func(ctx context.Context, s *Scene) error {
			if _, err := s.enter(ctx); err != nil {
				return err
			}
			_, err := s.run(ctx, sandbox.Command{Args: []string{"stubborn", "3600"}, Timeout: shortBound})
			if wrong := refused("a program past its deadline", err, sandbox.ErrTimeout); wrong != nil {
				return wrong
			}
			return s.attack(ctx, "processes", processNamespace())
		}},
		{Name: "another-sandbox-sees-nothing-of-this-one", Needs: []sandbox.Capability{exec, in}, Run: func(ctx context.Context, s *Scene) error {
			return s.traces(ctx, func() (*Scene, error) {
				other, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Key.Thread += "/after" })
				return other, err
			})
		}},
		{Name: "the-next-sandbox-of-the-key-sees-nothing", Needs: []sandbox.Capability{exec, in}, Run: func(ctx context.Context, s *Scene) error {
			return s.traces(ctx, func() (*Scene, error) {
				if err := s.dispose(ctx); err != nil {
					return nil, err
				}
				next, origin, err := s.neighbour(ctx, func(*sandbox.AcquireRequest) {})
				if err == nil && origin != sandbox.OriginCreated {
					err = fmt.Errorf("after its disposal the sandbox was %s", origin)
				}
				return next, err
			})
		}},
		{Name: "a-disposed-sandbox-leaves-nothing-on-the-machine", Missing: tells, Run: func(ctx context.Context, s *Scene) error {
			return s.leaves(ctx, func() error {
				other, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Key.Thread += "/counted" })
				if err != nil {
					return err
				}
				during, err := s.subject.Left(ctx)
				if err == nil && len(during) == 0 {
					err = notShown("a live sandbox does not show among what the machine holds")
				}
				if s.has(exec) && s.has(in) {
					_, awayErr := other.do(ctx, "away")
					err = errors.Join(err, awayErr)
				}
				failure := s.subject.Backend.Dispose(ctx, sandbox.DisposeRequest{Owner: owner, Key: other.request.Key})
				if failure != nil {
					return failure
				}
				return err
			})
		}},
		{Name: "an-acquire-cancelled-at-any-moment-leaves-nothing-on-the-machine", Missing: tells, Run: func(ctx context.Context, s *Scene) error {
			return s.leaves(ctx, func() error { return s.cancelledAcquires(ctx) })
		}},
	}}
}

// traces leaves files in every place that a program can write to and looks for them
// in another sandbox.
func (s *Scene) traces(ctx context.Context, next func() (*Scene, error)) error {
	places := []string{s.work, "/tmp", "/var/tmp", "/dev/shm", "/run", "/dev", "/home", "/root", "/usr/local", "/etc"}
	name := "/sandbox-conformance-trace-" + rand.Text()
	var left []string
	for _, place := range places {
		result, err := s.run(ctx, sandbox.Command{Args: []string{"write", place + name}, Stdin: strings.NewReader("a trace")})
		if err != nil {
			return err
		}
		if result.ExitCode == 0 {
			left = append(left, place+name)
		}
	}
	if len(left) == 0 {
		return notShown("no place could be written to")
	}
	other, err := next()
	if err != nil {
		return err
	}
	var found []string
	for _, path := range left {
		out, err := other.do(ctx, "exists", path)
		if err != nil {
			return err
		}
		if string(out) != "no" {
			found = append(found, path)
			_, _ = other.do(ctx, "remove", path) // not to trouble whoever runs next
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("another sandbox's files are there: %s", strings.Join(found, ", "))
	}
	return nil
}

// leaves compares what the machine holds before and after.
func (s *Scene) leaves(ctx context.Context, call func() error) error {
	before, err := s.subject.Left(ctx)
	if err != nil {
		return notShown("listing what the machine holds: %v", err)
	}
	if err := call(); err != nil {
		return err
	}
	after, err := s.subject.Left(ctx)
	if err != nil {
		return fmt.Errorf("listing what the machine holds afterwards: %w", err)
	}
	var more []string
	for _, what := range after {
		if !slices.Contains(before, what) {
			more = append(more, what)
		}
	}
	if len(more) > 0 {
		return fmt.Errorf("%d things are left: %s", len(more), strings.Join(more[:min(5, len(more))], "; "))
	}
	return nil
}

// cancelledAcquires cancels acquires a little later each time, until one succeeds,
// and disposes that.
func (s *Scene) cancelledAcquires(ctx context.Context) error {
	req := s.request
	req.Key.Thread += "/cut-short"
	for wait := time.Duration(0); wait < 10*time.Second; wait = wait*2 + 200*time.Microsecond {
		cut, cancel := context.WithTimeout(ctx, wait)
		_, err := s.subject.Backend.Acquire(cut, req)
		cancel()
		if err == nil {
			break
		}
		// A late acquire may have adopted what an earlier one left.
		if d := s.subject.Backend.DisposeScope(ctx, owner, scope, req.Key.Thread); d.Undisposed != nil || d.Disposed != 0 {
			left := fmt.Errorf("an acquire cut short after %s left %d sandboxes", wait, d.Disposed)
			if d.Undisposed != nil {
				left = fmt.Errorf("%w, and what could not be disposed: %w", left, d.Undisposed)
			}
			return left
		}
	}
	d := s.subject.Backend.DisposeScope(ctx, owner, scope, req.Key.Thread)
	if d.Undisposed != nil {
		return d.Undisposed
	}
	return nil
}
