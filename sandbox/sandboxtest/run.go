package sandboxtest

import (
	"context"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
)

// Subject is the backend under test, and what the suites need beside it. Only Backend
// and Spec have to be set. Its fields:
//
//   - Name string: for reports; empty is the backend's own.
//   - Backend: serves the sandboxes, as [backend.New] makes one. It has Name,
//     Declarations, Acquire, Dispose and DisposeScope.
//   - Spec [sandbox.Spec]: the workload to acquire, requiring every capability that the
//     backend offers.
//   - Only []string: the suites to run, or single probes as SUITE/probe; nil is all.
//   - Except map[string]string: probes, as SUITE/probe, that are known not to hold
//     here, each with its reason. They are not run.
//   - Must []string: suites that are about this subject; one whose capability is
//     missing is an error then, and no skip.
//   - Behind func(instanceID string) ([Guest], error): opens a sandbox from behind the
//     layer. Where it is nil a program plants the attacks, if the spec requires exec.
//   - Left func(context.Context) ([]string, error): what the machine holds for the
//     backend, see [MachineHolds]. Nil skips the probes that compare.
//   - Architecture string: the guest's processor, as Go calls it; empty is this one's.
//   - Programs [Programs]: sources for run_code.
//   - Bounds [Bounds]: what one sandbox may use up.
//   - Egress *[Egress]: what an allowlist is probed with, see [NewEgress]; nil skips.
//   - Progress func([Result]): told what became of each probe; may be nil.
type Subject = conformance.Subject

// Guest is a guest's file system without the layer under test. Paths are absolute, and
// making something makes its parents. What a guest has no such thing as, it answers
// with [ErrNoSuchThing]; what its own principal may not do, with [ErrGuestCannot]. Its
// methods:
//
//   - Mkdir(path string) error
//   - WriteFile(path string, data []byte) error
//   - Symlink(path, target string) error: a link at path that leads to target.
//   - Mkfifo(path string) error
//   - ReadFile(path string) ([]byte, error)
//   - Exists(path string) bool
//   - Remove(path string) error
type Guest = conformance.Guest

// Programs are sources in the backend's own language. An empty one skips its probe.
// All are strings:
//
//   - Streams: writes "to stdout" and "to stderr" there, and exits with 7.
//   - Loop: never ends by itself.
//   - Flood: writes without end.
//   - Echo: copies standard input to standard output.
//   - SetGlobal: sets a global.
//   - GetGlobal: writes "fresh" if that global is not set.
//   - WriteFile: writes "from the program" to the file made.txt in its directory.
type Programs = conformance.Programs

// Bounds are what one sandbox may use up, as it is configured. A zero skips the probe
// of that bound. All are int64:
//
//   - MemoryBytes: of all processes together.
//   - Processes: how many there may be, threads counted as the backend does.
//   - StorageBytes, Files: what the guest writes, in each place that it can write to.
type Bounds = conformance.Bounds

// Result is what became of one probe. Its fields:
//
//   - Suite, Probe string: which it was.
//   - Outcome [Outcome]: [Pass], [Fail], [Skip] or [NotShown].
//   - Detail string: why it did not pass.
type Result = conformance.Result

// Outcome is a word; its method Failed() bool reports whether it fails the suite.
type Outcome = conformance.Outcome

// Egress is what an allowlist is probed with. [NewEgress] makes one. Its fields:
//
//   - World: the internet that the backend is given in place of the real one.
//   - Observed *[Observed]: the observers that the backend tells; nil skips the probes
//     about them.
//   - EndProxy func(ctx context.Context, instanceID string) error: ends what stands
//     between one sandbox and its network, see [EndSockets]; nil skips.
type Egress = conformance.Egress

// Observed hears of decisions about egress: its method Of(instanceID string) is the
// [egress.Observer] to give the backend for one sandbox.
type Observed = conformance.Observed

// What becomes of a probe. NotShown is a failure: the attack could not be staged.
const (
	Pass     = conformance.Pass
	Fail     = conformance.Fail
	Skip     = conformance.Skip
	NotShown = conformance.NotShown
)

// What a [Guest] answers: that it has no links or pipes, and that its own principal
// is kept from what was asked.
var (
	ErrNoSuchThing = conformance.ErrNoSuchThing
	ErrGuestCannot = conformance.ErrGuestCannot
)

// JavaScript are a [Subject]'s Programs for the interpreter that wasm sandboxes run
// by default.
func JavaScript() Programs { return conformance.JavaScript() }

// MachineHolds makes a [Subject]'s Left for a backend that marks what it makes.
func MachineHolds(mark string) func(context.Context) ([]string, error) {
	return conformance.MachineHolds(mark)
}

// NewEgress makes a [Subject]'s Egress for a backend that serves allowlists: a world
// that the backend resolves names in, connects to and verifies servers by, in place
// of the internet, until the test ends. Register the closing of the backend after
// this call.
func NewEgress(t *testing.T) *Egress {
	t.Helper()
	e, err := conformance.NewEgress()
	if err != nil {
		t.Fatalf("conformance: %v", err)
	}
	t.Cleanup(e.World.Close)
	return e
}

// EndSockets makes an [Egress]'s EndProxy for a backend whose proxies listen, in this
// process, on Unix sockets in directories below one whose name begins with the mark.
// It is nil where that cannot be done.
func EndSockets(mark string, dirs ...string) func(context.Context, string) error {
	return conformance.EndSockets(mark, dirs...)
}

// Run runs the conformance suites against a backend, each probe as a subtest, and
// answers what became of each. A probe whose capability the spec does not require
// is skipped with that reason.
func Run(t *testing.T, subject Subject) []Result {
	t.Helper()
	results, err := conformance.Run(t.Context(), subject)
	if err != nil {
		t.Fatalf("conformance: %v", err)
	}
	for _, r := range results {
		t.Run(r.Suite+"/"+r.Probe, func(t *testing.T) {
			switch r.Outcome {
			case conformance.Pass:
			case conformance.Skip:
				t.Skip(r.Detail)
			default:
				t.Error(r.Detail)
			}
		})
	}
	return results
}
