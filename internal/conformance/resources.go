package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// resources uses up one thing after another in a sandbox and checks two things: it
// is stopped at its bound, and a neighbour that runs meanwhile goes on working.
func resources() Suite {
	bounded := func(what string, bound func(Bounds) int64) func(Subject) string {
		return func(s Subject) string {
			if bound(s.Bounds) <= 0 {
				return "without a stated bound on " + what
			}
			return ""
		}
	}
	processes := func(b Bounds) int64 { return b.Processes }
	memory := func(b Bounds) int64 { return b.MemoryBytes }
	storage := func(b Bounds) int64 { return b.StorageBytes }
	files := func(b Bounds) int64 { return b.Files }
	probe := func(name, what string, bound func(Bounds) int64, units func(int64) int64, places ...string) Probe {
		return Probe{Name: name, Missing: bounded(what, bound), Run: func(ctx context.Context, s *Scene) error {
			most := units(bound(s.subject.Bounds))
			for _, place := range append(places, s.places(places)...) {
				if err := s.bomb(ctx, what, most, place); err != nil {
					return fmt.Errorf("%s: %w", place, err)
				}
			}
			return nil
		}}
	}
	// Half as much again as there should be, so that a bound which counts a little
	// differently is still one.
	over := func(n int64) int64 { return n + n/2 + 16 }
	return Suite{Name: "RESOURCES", Gate: sandbox.CapabilityExec, Probes: fromWithin([]Probe{
		probe("a-fork-bomb", "processes", processes, over),
		probe("memory-of-many-processes", "memory", memory, func(n int64) int64 { return over(n) / (16 << 20) }),
		probe("files-without-content", "files", files, over),
		probe("a-full-disk", "bytes", storage, func(n int64) int64 { return over(n) >> 20 }),
		probe("files-in-dev-shm", "files", files, over, "/dev/shm"),
		probe("bytes-in-dev-shm", "bytes", storage, func(n int64) int64 { return over(n) >> 20 }, "/dev/shm"),
		probe("files-in-dev", "files", files, over, "/dev"),
		probe("bytes-in-tmp", "bytes", storage, func(n int64) int64 { return over(n) >> 20 }, "/tmp"),
		probe("files-in-tmp", "files", files, over, "/tmp"),
	})}
}

// places is the work directory for a bomb that names no other.
func (s *Scene) places(named []string) []string {
	if len(named) > 0 {
		return nil
	}
	return []string{s.work}
}

// bomb sets one off and watches a neighbour until it has reached its peak and ten
// calls longer.
func (s *Scene) bomb(ctx context.Context, what string, most int64, place string) error {
	if _, err := s.enter(ctx); err != nil {
		return err
	}
	neighbour, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Key.Thread += "/neighbour" })
	if err != nil {
		return err
	}
	if err := neighbour.works(ctx); err != nil {
		return notShown("a neighbour before the attack: %v", err)
	}
	ready := s.work + "/" + what + "-ready"
	until, end := io.Pipe()
	type ended struct {
		answer answer
		err    error
	}
	running := make(chan ended, 1)
	go func() {
		args := []string{"bomb", what, strconv.FormatInt(most, 10), place, ready}
		a, err := s.ask(ctx, sandbox.Command{Args: args, Stdin: until, Timeout: probeBound})
		_ = until.Close()
		running <- ended{a, err}
	}()
	result, broken := watch(ctx, s, neighbour, ready, running, func() { _ = end.Close() })
	if broken != nil {
		return fmt.Errorf("a neighbour beside it: %w", broken)
	}
	if err := errors.Join(judgeBomb(result.answer, result.err), neighbour.works(ctx), neighbour.mustWrite(ctx, "works.txt", "here")); err != nil {
		return err
	}
	// The sandbox itself may be gone; then a new one is made, and works.
	again, err := s.again(ctx)
	if err != nil {
		return fmt.Errorf("acquiring after it: %w", err)
	}
	if again.Session.Info().InstanceID != s.Info().InstanceID {
		s.Session, s.inside = again.Session, nil
	}
	return nil
}

// watch runs the neighbour's programs until the bomb is at its peak, or over.
func watch[T any](ctx context.Context, s, neighbour *Scene, ready string, running <-chan T, stop func()) (result T, broken error) {
	begun, after := time.Now(), 0
	for broken == nil && after < 10 && ctx.Err() == nil {
		select {
		case result = <-running:
			stop()
			return result, neighbour.works(ctx)
		default:
		}
		broken = neighbour.works(ctx)
		if after > 0 || s.isThere(ctx, ready) || time.Since(begun) > grace {
			after++
		}
	}
	stop()
	return <-running, broken
}

func (s *Scene) isThere(ctx context.Context, path string) bool {
	if !s.has(sandbox.CapabilityFilesOut) {
		return false
	}
	_, err := s.Stat(ctx, path)
	return err == nil
}

// works checks that a sandbox runs a program.
func (s *Scene) works(ctx context.Context) error {
	out, err := s.do(ctx, "args", "here")
	return errors.Join(err, same("a small program", out, []byte("4:here,")))
}

// judgeBomb says whether it was stopped. One that took its own sandbox with it was.
func judgeBomb(a answer, err error) error {
	switch {
	case err == nil && len(a.Reached) > 0:
		return fmt.Errorf("reached %s", a.Reached[0])
	case err == nil && a.Note == "":
		return notShown("it did not say what stopped it")
	case err == nil, errors.Is(err, sandbox.ErrLimit), errors.Is(err, sandbox.ErrUnavailable), judge(err) == Fail && killed(err):
		return nil
	}
	return err
}

// killed reports whether the attacker itself was ended by a signal.
func killed(err error) bool {
	var bad *programEnded
	return errors.As(err, &bad) && bad.code >= 128
}
