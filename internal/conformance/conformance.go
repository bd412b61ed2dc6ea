// Package conformance holds the probes that every backend has to pass, as data: a
// suite is a list of named probes, a probe is one sentence and one function. It
// knows no test framework and no backend; package sandboxtest is the public door.
//
// Read [Subject] for what a backend's author supplies and [Run] for what comes
// back. Every probe runs, whatever became of those before it. A probe that cannot
// be asked is a skip with its reason, never a pass.
package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Subject is the backend under test.
type Subject struct {
	// Name is for reports.
	Name string
	// Backend serves the sandboxes.
	Backend Backend
	// Spec is the workload to acquire, with every capability the backend offers.
	Spec sandbox.Spec
	// Behind opens a sandbox from behind the layer under test, to plant attacks and
	// to see what became of them. Nil where there is no such way; the probes that
	// need links are then skipped.
	Behind func(instanceID string) (Guest, error)
	// Programs are sources in the backend's own language, for run_code.
	Programs Programs
}

// Backend is what the probes call.
type Backend interface {
	Acquire(ctx context.Context, req sandbox.AcquireRequest) (sandbox.Acquired, error)
	Dispose(ctx context.Context, req sandbox.DisposeRequest) *sandbox.DisposalFailure
	DisposeScope(ctx context.Context, owner, scope, thread string) sandbox.ScopeDisposal
}

// Guest is a guest's file system without the layer under test. Paths are absolute;
// making something makes its parents. A guest that has no such thing as a link or
// a pipe answers [ErrNoSuchThing].
type Guest interface {
	Mkdir(path string) error
	WriteFile(path string, data []byte) error
	Symlink(path, target string) error
	Mkfifo(path string) error
	ReadFile(path string) ([]byte, error)
	Exists(path string) bool
	Remove(path string) error
}

// ErrNoSuchThing says that a guest cannot hold what was to be planted.
var ErrNoSuchThing = errors.New("this guest has no such thing")

// Programs are the sources that run_code is probed with. An empty one skips its
// probe.
type Programs struct {
	// Streams writes "to stdout" to standard output and "to stderr" to standard
	// error, and exits with 7. A newline at the end of output is not looked at,
	// here and below.
	Streams string
	// Loop never ends by itself.
	Loop string
	// Flood writes without end.
	Flood string
	// Echo copies standard input to standard output.
	Echo string
	// SetGlobal sets a global; GetGlobal writes "fresh" if there is none.
	SetGlobal, GetGlobal string
	// WriteFile writes "from the program" to the file made.txt in its directory.
	WriteFile string
}

// Result is what became of one probe.
type Result struct {
	Suite   string
	Probe   string
	Outcome Outcome
	// Detail says why a probe failed or was skipped.
	Detail string
}

// Outcome of a probe.
type Outcome string

// The outcomes.
const (
	Pass Outcome = "pass"
	Fail Outcome = "fail"
	Skip Outcome = "skip"
)

// Suite is a list of probes behind one capability; without it the suite is not
// about this backend.
type Suite struct {
	Name   string
	Gate   sandbox.Capability // unspecified: no gate
	Probes []Probe
}

// Probe is one thing that has to hold.
type Probe struct {
	Name string
	// Needs are the capabilities beyond the gate.
	Needs []sandbox.Capability
	// Layout is what stands in the sandbox when the probe begins.
	Layout Layout
	Run    func(ctx context.Context, s *Scene) error
}

// Layout is what a probe finds in its sandbox.
type Layout uint8

// The layouts.
const (
	// Empty: nothing.
	Empty Layout = iota
	// Files: plain.txt and real/inside.txt. Without a way behind the layer they
	// are written through it.
	Files
	// Links: those, a neighbour of the work directory with secrets in it, and
	// links that lead there.
	Links
)

// Suites lists all suites in the order they run.
func Suites() []Suite {
	return []Suite{filesOut(), filesIn(), filesList(), filesDelete(), runCode(), reuse()}
}

// Run runs every suite against the subject. The error is the subject's own: one
// that cannot be probed at all.
func Run(ctx context.Context, subject Subject) ([]Result, error) {
	if subject.Backend == nil || subject.Spec.Kind == "" {
		return nil, errors.New("a subject names a backend and a spec with its kind")
	}
	if subject.Spec.WorkDir == "" {
		subject.Spec.WorkDir = sandbox.DefaultWorkDir
	}
	var results []Result
	for _, suite := range Suites() {
		for i, probe := range suite.Probes {
			outcome, detail := runProbe(ctx, subject, suite, probe, i)
			results = append(results, Result{Suite: suite.Name, Probe: probe.Name, Outcome: outcome, Detail: detail})
		}
	}
	return results, nil
}

// errSkip ends a probe that cannot be asked.
var errSkip = errors.New("skipped")

func skip(reason string) error { return fmt.Errorf("%w: %s", errSkip, reason) }

func runProbe(ctx context.Context, subject Subject, suite Suite, probe Probe, n int) (outcome Outcome, detail string) {
	defer func() {
		if r := recover(); r != nil {
			outcome, detail = Fail, fmt.Sprintf("panicked: %v", r)
		}
	}()
	needs := probe.Needs
	if suite.Gate != sandbox.CapabilityUnspecified {
		needs = append([]sandbox.Capability{suite.Gate}, needs...)
	}
	for _, need := range needs {
		if !subject.Spec.RequiredCapabilities().Has(need) {
			return Skip, "without " + need.String()
		}
	}
	switch {
	case subject.Behind != nil || probe.Layout == Empty:
	case probe.Layout == Links:
		return Skip, "no way to plant links behind the layer"
	case !subject.Spec.RequiredCapabilities().Has(sandbox.CapabilityFilesIn), !subject.Spec.RequiredCapabilities().Has(sandbox.CapabilityFilesOut):
		return Skip, "no way to plant files and look at them, neither behind the layer nor through it"
	}
	scene, err := newScene(ctx, subject, fmt.Sprintf("%s-%d", suite.Name, n), probe.Layout)
	if err == nil {
		err = probe.Run(ctx, scene)
	}
	if scene != nil {
		if failure := scene.dispose(ctx); err == nil && failure != nil {
			err = fmt.Errorf("afterwards: %w", failure)
		}
	}
	switch {
	case err == nil:
		return Pass, ""
	case errors.Is(err, errSkip), errors.Is(err, ErrNoSuchThing):
		return Skip, err.Error()
	}
	return Fail, err.Error()
}
