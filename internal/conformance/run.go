package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	// probeBound is how long one probe may take, its sandbox's making included.
	probeBound = 2 * time.Minute
	// disposeBound is how long its clean-up may take beyond that.
	disposeBound = 30 * time.Second
)

// Run runs every suite against the subject. The error is the subject's own: one
// that cannot be probed at all, one that lacks the gate of a suite it must run, or
// the end of ctx, with what was found until then.
func Run(ctx context.Context, subject Subject) ([]Result, error) {
	if err := complete(&subject); err != nil {
		return nil, err
	}
	leaveCanary()
	var results []Result
	for _, suite := range Suites() {
		for _, probe := range suite.Probes {
			if !subject.wants(suite.Name, probe.Name) {
				continue
			}
			if ctx.Err() != nil {
				return results, fmt.Errorf("probing %s: %w", subject.Name, context.Cause(ctx))
			}
			result := runProbe(ctx, subject, suite, probe, results)
			results = append(results, result)
			if subject.Progress != nil {
				subject.Progress(result)
			}
		}
	}
	return results, nil
}

// complete fills a subject in and refuses one that cannot be probed.
func complete(subject *Subject) error {
	if subject.Backend == nil || subject.Spec.Kind == "" {
		return errors.New("a subject names a backend and a spec with its kind")
	}
	if subject.Name == "" {
		subject.Name = subject.Backend.Name()
	}
	if subject.Spec.WorkDir == "" {
		subject.Spec.WorkDir = sandbox.DefaultWorkDir
	}
	if subject.Spec.FilesIn == nil {
		// The probes write more, and more often, than workloads do by default. A
		// probe of the limits states its own.
		limits := sandbox.DefaultTransferLimits()
		limits.MaxFiles, limits.MaxTotalBytes = 1<<20, 1<<34
		subject.Spec.FilesIn = &limits
	}
	subject.internet = newInternet(subject.Egress)
	if subject.Architecture == "" {
		subject.Architecture = runtime.GOARCH
	}
	for _, name := range subject.Only {
		if !known(name) {
			return fmt.Errorf("there is no suite and no probe %s", sandbox.Echo(name))
		}
	}
	for _, name := range subject.Must {
		at := slices.IndexFunc(Suites(), func(s Suite) bool { return s.Name == name })
		if at < 0 {
			return fmt.Errorf("there is no suite %s for %s to run", sandbox.Echo(name), subject.Name)
		}
		if gate := Suites()[at].Gate; gate != sandbox.CapabilityUnspecified && !subject.has(gate) {
			return fmt.Errorf("%s must run suite %s and is without %s", subject.Name, name, gate)
		}
	}
	return nil
}

// known reports whether a name is a suite's, or SUITE/probe.
func known(name string) bool {
	suite, probe, one := strings.Cut(name, "/")
	for _, s := range Suites() {
		if s.Name == suite {
			return !one || slices.ContainsFunc(s.Probes, func(p Probe) bool { return p.Name == probe })
		}
	}
	return false
}

func (subject Subject) wants(suite, probe string) bool {
	if subject.Only == nil || slices.Contains(subject.Only, suite) || slices.Contains(subject.Only, suite+"/"+probe) {
		return true
	}
	// What a guarantee rests on is wanted with it.
	return slices.ContainsFunc(showsOf(suite, probe), func(g sandbox.Guarantee) bool {
		return slices.Contains(subject.Only, guaranteeSuite) || slices.Contains(subject.Only, guaranteeSuite+"/"+guaranteeProbe(g))
	})
}

func (subject Subject) has(c sandbox.Capability) bool {
	if c == sandbox.CapabilityReclaim { // declared, never required
		declared := subject.Backend.Declarations().Capabilities
		return declared != nil && declared.Has(c)
	}
	return subject.Spec.RequiredCapabilities().Has(c)
}

// How a probe ends that neither holds nor fails.
var (
	errSkip     = errors.New("skipped")
	errNotShown = errors.New("not shown")
	errHeld     = errors.New("held")
)

// ending is one of those with what there is to say.
type ending struct {
	as   error
	text string
}

func (e *ending) Error() string { return e.text }
func (e *ending) Unwrap() error { return e.as }

// skip says which ability is missing.
func skip(reason string) error { return &ending{errSkip, reason} }

// notShown says why an attack could not be staged.
func notShown(format string, args ...any) error {
	return &ending{errNotShown, fmt.Sprintf(format, args...)}
}

// held says why an attack is impossible from its very beginning.
func held(format string, args ...any) error { return &ending{errHeld, fmt.Sprintf(format, args...)} }

func runProbe(ctx context.Context, subject Subject, suite Suite, probe Probe, before []Result) (result Result) {
	result = Result{Suite: suite.Name, Probe: probe.Name, Outcome: Fail}
	defer func() {
		if r := recover(); r != nil {
			result.Outcome, result.Detail = Fail, fmt.Sprintf("panicked: %v", r)
		}
	}()
	if missing := lacks(subject, suite, probe); missing != "" {
		result.Outcome, result.Detail = Skip, missing
		return result
	}
	var err error
	if probe.Over != nil {
		err = probe.Over(subject, before)
	} else {
		err = stage(ctx, subject, suite.Name+"/"+probe.Name, probe)
	}
	result.Outcome = judge(err)
	if err != nil {
		result.Detail = err.Error()
	}
	return result
}

// judge is the worst that an error and those joined in it say.
func judge(err error) Outcome {
	if err == nil {
		return Pass
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		worst := Pass
		for _, part := range joined.Unwrap() {
			if o := judge(part); rank(o) > rank(worst) {
				worst = o
			}
		}
		return worst
	}
	switch {
	case errors.Is(err, errHeld), errors.Is(err, ErrGuestCannot):
		return Pass
	case errors.Is(err, errSkip), errors.Is(err, ErrNoSuchThing):
		return Skip
	case errors.Is(err, errNotShown):
		return NotShown
	}
	return Fail
}

func rank(o Outcome) int { return slices.Index([]Outcome{Pass, Skip, NotShown, Fail}, o) }

// lacks names what the subject would need for a probe.
func lacks(subject Subject, suite Suite, probe Probe) string {
	if known := subject.Except[suite.Name+"/"+probe.Name]; known != "" {
		return known
	}
	needs := probe.Needs
	if suite.Gate != sandbox.CapabilityUnspecified {
		needs = append([]sandbox.Capability{suite.Gate}, needs...)
	}
	for _, need := range needs {
		if !subject.has(need) {
			return "without " + need.String()
		}
	}
	inside := subject.has(sandbox.CapabilityExec) && subject.has(sandbox.CapabilityFilesIn)
	through := subject.has(sandbox.CapabilityFilesIn) && subject.has(sandbox.CapabilityFilesOut)
	switch {
	case probe.Layout == Links && subject.Behind == nil && !inside:
		return "without exec, by which a guest makes links"
	case probe.Layout == Files && subject.Behind == nil && !inside && !through:
		return "without a way to plant files and look at them"
	case probe.Missing != nil:
		return probe.Missing(subject)
	}
	return ""
}

// stage makes a probe's sandbox, runs it and cleans up.
func stage(ctx context.Context, subject Subject, thread string, probe Probe) error {
	bounded, cancel := context.WithTimeoutCause(ctx, probeBound, fmt.Errorf("no end within %s", probeBound))
	defer cancel()
	scene, err := newScene(bounded, subject, thread, probe.Rules)
	if scene != nil {
		defer scene.close()
	}
	if err == nil {
		err = scene.plant(bounded, probe.Layout)
	}
	if err == nil {
		err = probe.Run(bounded, scene)
	}
	if scene == nil {
		return err
	}
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), disposeBound)
	defer stop()
	if failure := scene.dispose(ending); failure != nil {
		err = errors.Join(err, fmt.Errorf("afterwards: %w", failure))
	}
	return err
}
