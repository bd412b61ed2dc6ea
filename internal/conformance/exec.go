package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// shortBound is how long the probes let a program run that never ends.
const shortBound = time.Second

func execs() Suite {
	return Suite{Name: "EXEC", Gate: sandbox.CapabilityExec, Probes: fromWithin([]Probe{
		{Name: "arguments-arrive-as-they-are", Run: func(ctx context.Context, s *Scene) error {
			args := []string{"a b$(echo injected)c", "", "*", "'\"`", "-x", "\\", "two\nlines", "\xff\xfe", "ü漢😀", strings.Repeat("long ", 20_000)}
			out, err := s.do(ctx, append([]string{"args"}, args...)...)
			var want strings.Builder
			for _, a := range args {
				fmt.Fprintf(&want, "%d:%s,", len(a), a)
			}
			return errors.Join(err, same("the arguments", out, []byte(want.String())))
		}},
		{Name: "exit-codes-are-exact", Run: func(ctx context.Context, s *Scene) error {
			for _, code := range []int{0, 1, 7, 126, 127, 128, 137, 255} {
				result, err := s.run(ctx, sandbox.Command{Args: []string{"exit", fmt.Sprint(code)}})
				if err != nil || result.ExitCode != code {
					return otherwise(err, "a program that ended with %d gave %d", code, result.ExitCode)
				}
			}
			return nil
		}},
		{Name: "streams-stay-separate-and-exact", Run: func(ctx context.Context, s *Scene) error { return s.bothStreams(ctx, everyByte()) }},
		{Name: "large-streams-are-whole", Run: func(ctx context.Context, s *Scene) error {
			return s.bothStreams(ctx, bytes.Repeat(everyByte(), 1800)) // half a MiB each way
		}},
		{Name: "standard-input-arrives", Run: func(ctx context.Context, s *Scene) error {
			data := bytes.Repeat(everyByte(), 100)
			result, err := s.run(ctx, sandbox.Command{Args: []string{"cat"}, Stdin: bytes.NewReader(data)})
			return errors.Join(err, same("a copy of standard input", result.Stdout, data))
		}},
		{Name: "no-standard-input-is-an-empty-one", Run: func(ctx context.Context, s *Scene) error {
			out, err := s.do(ctx, "cat")
			return errors.Join(err, same("a copy of no standard input", out, nil))
		}},
		{Name: "the-work-directory-is-where-it-runs", Run: func(ctx context.Context, s *Scene) error {
			out, err := s.do(ctx, "pwd")
			return errors.Join(err, same("the working directory", out, []byte(s.work)))
		}},
		{Name: "a-directory-below-is-honoured", Run: func(ctx context.Context, s *Scene) error {
			if err := s.mustWrite(ctx, "below/file", "x"); err != nil {
				return err
			}
			for _, dir := range []string{"below", s.work + "/below", "./below/"} {
				result, err := s.run(ctx, sandbox.Command{Args: []string{"pwd"}, Dir: dir})
				if err := errors.Join(err, same("the working directory "+dir, result.Stdout, []byte(s.work+"/below"))); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "a-directory-outside-is-refused", Run: func(ctx context.Context, s *Scene) error {
			var errs []error
			for _, dir := range []string{"..", "../outside", "/", "/tmp", s.work + "-outside"} {
				_, err := s.run(ctx, sandbox.Command{Args: []string{"pwd"}, Dir: dir})
				errs = append(errs, refused("running in "+dir, err, sandbox.ErrValue))
			}
			return errors.Join(errs...)
		}},
		{Name: "the-environment-is-what-was-given", Run: environment},
		{Name: "nothing-of-the-host-is-inherited", Run: inherited},
		{Name: "a-deadline-stops-a-program", Run: func(ctx context.Context, s *Scene) error {
			return s.stopped(ctx, "sleep", "3600")
		}},
		{Name: "a-callers-deadline-stops-a-program", Run: func(ctx context.Context, s *Scene) error {
			if _, err := s.enter(ctx); err != nil {
				return err
			}
			bounded, cancel := context.WithTimeout(ctx, shortBound)
			defer cancel()
			_, err := s.run(bounded, sandbox.Command{Args: []string{"sleep", "3600"}})
			return errors.Join(refused("a program past its caller's deadline", err, sandbox.ErrTimeout), s.stillWorks(ctx))
		}},
		{Name: "a-cancelled-call-ends-its-program", Run: cancelled},
		{Name: "programs-run-beside-each-other", Run: beside},
		{Name: "files-survive-a-call", Run: func(ctx context.Context, s *Scene) error {
			result, err := s.run(ctx, sandbox.Command{Args: []string{"write", s.work + "/made.txt"}, Stdin: strings.NewReader("from the program")})
			if _, err := outcomeOf([]string{"write"}, result, err); err != nil {
				return err
			}
			out, err := s.do(ctx, "read", s.work+"/made.txt")
			return errors.Join(err, same("a file of an earlier call", out, []byte("from the program")))
		}},
	})}
}

// fromWithin makes probes need what uploading the prober does.
func fromWithin(probes []Probe) []Probe {
	for i := range probes {
		probes[i].Needs = append(probes[i].Needs, sandbox.CapabilityFilesIn)
	}
	return probes
}

// bothStreams has a program write the data to standard output and its reverse to
// standard error, in turns.
func (s *Scene) bothStreams(ctx context.Context, data []byte) error {
	reversed := slices.Clone(data)
	slices.Reverse(reversed)
	result, err := s.run(ctx, sandbox.Command{Args: []string{"streams", "7"}, Stdin: bytes.NewReader(data)})
	if err != nil {
		return err
	}
	if result.ExitCode != 7 {
		err = fmt.Errorf("exit code %d instead of 7", result.ExitCode)
	}
	return errors.Join(err, same("standard output", result.Stdout, data), same("standard error", result.Stderr, reversed))
}

// variables are a program's environment.
func (s *Scene) variables(ctx context.Context, add ...string) ([]string, error) {
	result, err := s.run(ctx, sandbox.Command{Args: []string{"env"}, Env: add})
	out, err := outcomeOf([]string{"env"}, result, err)
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), err
}

// environment adds variables to a call: they arrive as they are, replace the fixed
// ones, and are gone with the call.
func environment(ctx context.Context, s *Scene) error {
	before, err := s.variables(ctx)
	if err != nil {
		return err
	}
	given := []string{"PLAIN=x", "EMPTY=", "ODD=a=b c\n$(id)", "HOME=/nowhere"}
	during, err := s.variables(ctx, given...)
	if err != nil {
		return err
	}
	for _, pair := range given {
		if !slices.Contains(during, pair) {
			return fmt.Errorf("%s did not arrive", sandbox.Echo(pair))
		}
		name, _, _ := strings.Cut(pair, "=")
		if n := len(slices.DeleteFunc(slices.Clone(during), func(v string) bool { return !strings.HasPrefix(v, name+"=") })); n != 1 {
			return fmt.Errorf("%s is there %d times", name, n)
		}
	}
	after, err := s.variables(ctx)
	slices.Sort(before)
	slices.Sort(after)
	if err == nil && !slices.Equal(before, after) {
		err = fmt.Errorf("the next call had %q instead of %q", after, before)
	}
	return err
}

// inherited looks for this process' own variables in a program's environment.
func inherited(ctx context.Context, s *Scene) error {
	if os.Getenv(canaryVariable) == "" {
		return notShown("there is no canary in this process' environment")
	}
	variables, err := s.variables(ctx)
	for _, pair := range variables {
		if strings.HasPrefix(pair, canaryVariable+"=") {
			return errors.New("the host's environment is there")
		}
	}
	return err
}

// stopped runs a program that must not outlive its deadline, and checks that the
// sandbox does.
func (s *Scene) stopped(ctx context.Context, args ...string) error {
	if _, err := s.enter(ctx); err != nil {
		return err
	}
	begun := time.Now()
	_, err := s.run(ctx, sandbox.Command{Args: args, Timeout: shortBound})
	took := time.Since(begun)
	if wrong := refused("a program past its deadline", err, sandbox.ErrTimeout); wrong != nil {
		return wrong
	}
	var kept *sandbox.Stopped
	switch {
	case took < shortBound/2 || took > 20*shortBound:
		return fmt.Errorf("stopped after %s at a deadline of %s", took.Round(time.Millisecond), shortBound)
	case !errors.As(err, &kept) || !strings.HasPrefix(string(kept.Result.Stdout), "begun"):
		return errors.New("what the program had written was not kept")
	}
	return s.stillWorks(ctx)
}

// stillWorks checks that the sandbox runs programs, and runs nothing else.
func (s *Scene) stillWorks(ctx context.Context) error {
	if _, err := s.do(ctx, "nothing"); err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	if err := s.attack(ctx, "processes", processNamespace()); judge(err) == Fail {
		return fmt.Errorf("afterwards: %w", err)
	}
	return nil
}

// cancelled cancels a call whose program is seen to run.
func cancelled(ctx context.Context, s *Scene) error {
	if _, err := s.enter(ctx); err != nil {
		return err
	}
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	// The program reads its input only once it runs.
	_, err := s.run(calling, sandbox.Command{Args: []string{"cat"}, Stdin: &cancelling{cancel: cancel}})
	if err == nil || !errors.Is(err, context.Canceled) {
		return otherwise(err, "a cancelled call did not end as one")
	}
	return s.stillWorks(ctx)
}

// cancelling is endless input that cancels when some of it has been taken.
type cancelling struct {
	cancel context.CancelFunc
	reads  int
}

func (c *cancelling) Read(p []byte) (int, error) {
	if c.reads++; c.reads == 3 {
		c.cancel()
	}
	n := min(len(p), 1024)
	clear(p[:n])
	return n, nil
}

// beside runs programs at once that each see their own streams.
func beside(ctx context.Context, s *Scene) error {
	if _, err := s.enter(ctx); err != nil {
		return err
	}
	const programs = 4
	ended := make(chan error, programs)
	for i := range programs {
		go func() {
			data := bytes.Repeat([]byte{byte('a' + i)}, 50_000)
			result, err := s.run(ctx, sandbox.Command{Args: []string{"cat"}, Stdin: bytes.NewReader(data)})
			ended <- errors.Join(err, same("one of several programs", result.Stdout, data))
		}()
	}
	var errs []error
	for range programs {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}
