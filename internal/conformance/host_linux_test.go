package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/hostengine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// overHost makes a subject of the layer over an engine that holds nothing.
func overHost(t *testing.T, options hostengine.Options, workDir string) conformance.Subject {
	t.Helper()
	e := hostengine.New(options)
	b, err := backend.New(e, e.Declarations())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if n := e.Count(); n != 0 {
			t.Errorf("%d sandboxes left", n)
		}
	})
	return conformance.Subject{
		Backend: b, Spec: sandbox.Spec{Kind: "probe", Requires: e.Declarations().Capabilities, WorkDir: workDir},
	}
}

func outcomes(t *testing.T, subject conformance.Subject) map[string]conformance.Result {
	t.Helper()
	results, err := conformance.Run(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]conformance.Result{}
	for _, r := range results {
		by[r.Suite+"/"+r.Probe] = r
	}
	return by
}

// TestEveryAttackWorksWhereNothingIsHeld is the premise of the suites that attack
// from within: with the machine itself for a sandbox, each probe notices.
func TestEveryAttackWorksWhereNothingIsHeld(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("some attacks need root to succeed where nothing is held")
	}
	work := filepath.Join(t.TempDir(), "work")
	for name, r := range outcomes(t, overHost(t, hostengine.Options{Links: engine.Follow}, work)) {
		t.Logf("%-9s %s %s", r.Outcome, name, r.Detail)
	}
}
