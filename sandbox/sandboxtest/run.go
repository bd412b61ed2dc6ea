package sandboxtest

import (
	"context"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
)

// Subject is the backend under test; the others belong to it.
type (
	Subject  = conformance.Subject
	Guest    = conformance.Guest
	Programs = conformance.Programs
	Bounds   = conformance.Bounds
	Result   = conformance.Result
	Outcome  = conformance.Outcome
	Egress   = conformance.Egress
	Observed = conformance.Observed
)

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
