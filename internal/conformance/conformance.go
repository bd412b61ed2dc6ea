// Package conformance holds the probes that every backend has to pass, as data: a
// suite is a list of named probes, a probe is one sentence and one function. It
// knows no test framework and no backend; package sandboxtest is the public door,
// `sandboxctl conformance` the one for everybody else.
//
// Read [Subject] for what a backend's author supplies and [Run] for what comes
// back. Every probe runs, whatever became of those before it. A probe whose
// capability is missing is a skip that names it; an attack that could not be
// staged is [NotShown], which fails its suite: it is never a pass.
//
// Attacks from within are made by the program of package prober, which is uploaded
// like any other file. That they work where nothing is in their way is shown by
// this package's own tests, over an engine that holds nothing.
package conformance

import (
	"context"
	"errors"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Subject is the backend under test.
type Subject struct {
	// Name is for reports; empty is the backend's own.
	Name string
	// Backend serves the sandboxes.
	Backend Backend
	// Spec is the workload to acquire, with every capability the backend offers.
	Spec sandbox.Spec
	// Only names the suites to run, or single probes as SUITE/probe; nil is all.
	Only []string
	// Except names probes, as SUITE/probe, that are known not to hold here, each with
	// its reason. They are not run, and the report says the reason.
	Except map[string]string
	// Must names suites that are about this subject. One whose gate is missing
	// is an error of the run instead of a skip.
	Must []string

	// Behind opens a sandbox from behind the layer under test, to plant attacks and
	// to see what became of them. Where it is nil they are planted from within, by
	// a program, if the spec requires exec; else those probes are skipped.
	Behind func(instanceID string) (Guest, error)
	// Left lists what the machine holds for the backend: processes, mounts, groups,
	// folders. Nil where nobody can tell; the probes that compare are then skipped.
	Left func(ctx context.Context) ([]string, error)

	// Architecture is the guest's processor, as Go calls it; empty is this one's.
	Architecture string
	// Programs are sources in the backend's own language, for run_code.
	Programs Programs
	// Bounds are what one sandbox may use up.
	Bounds Bounds

	// Egress is what an allowlist is probed with; nil skips the suites about one.
	Egress *Egress

	// Progress, where it is not nil, is told what became of each probe.
	Progress func(Result)

	// internet is the world with the probes' servers.
	internet *internet
}

// Backend is what the probes call.
type Backend interface {
	Name() string
	Declarations() sandbox.Declarations
	Acquire(ctx context.Context, req sandbox.AcquireRequest) (sandbox.Acquired, error)
	Dispose(ctx context.Context, req sandbox.DisposeRequest) *sandbox.DisposalFailure
	DisposeScope(ctx context.Context, owner, scope, thread string) sandbox.ScopeDisposal
}

// Guest is a guest's file system without the layer under test. Paths are absolute;
// making something makes its parents. A guest that has no such thing as a link or
// a pipe answers [ErrNoSuchThing]; one whose own principal may not do it answers
// an error that is [ErrGuestCannot].
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

// ErrGuestCannot says that the guest's own principal was kept from doing what was
// to be planted. An attack that starts there is impossible.
var ErrGuestCannot = errors.New("the guest itself cannot do that")

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

// Bounds are what one sandbox may use up, as it is configured. A zero is a bound
// that the backend does not state: the probe of what it would hold is skipped.
type Bounds struct {
	// MemoryBytes is for all processes of one sandbox together.
	MemoryBytes int64
	// Processes is how many there may be, threads counted as the backend does.
	Processes int64
	// StorageBytes and Files are for what the guest writes, in each place that it
	// can write to.
	StorageBytes int64
	Files        int64
}

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
	// Missing, where it is not nil, says what else the subject lacks; empty is
	// nothing.
	Missing func(Subject) string
	// Rules, where they are not nil, are what the probe's sandbox may reach.
	Rules map[string]sandbox.EgressRule
	// Shows names the guarantees that rest on the probe.
	Shows []sandbox.Guarantee
	// Layout is what stands in the sandbox when the probe begins.
	Layout Layout
	Run    func(ctx context.Context, s *Scene) error
	// Over, in place of Run, judges what became of the probes before it.
	Over func(s Subject, before []Result) error
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
	// links that lead there. That following them reaches the secrets is checked
	// before the probe begins.
	Links
)

// Suites lists all suites in the order they run.
func Suites() []Suite {
	return []Suite{
		filesOut(), filesIn(), filesList(), filesDelete(), races(),
		execs(), badPrograms(), runCode(),
		storageBase(), reclaim(), reach(),
		freshAcquire(), reuse(), callScope(), instanceDisposal(), nothingLeftBehind(),
		boundary(), resources(),
		egressHosts(), egressAddresses(), egressSockets(), egressNames(), egressTLS(), egressRequests(),
		egressOpened(), egressLimits(), egressWithout(), declaredGuarantees(),
	}
}
