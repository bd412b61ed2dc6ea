package sandboxtest_test

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestAProbeThatCannotBeAskedIsSkippedWithItsReason(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	only := sandbox.SetOf(sandbox.CapabilityFilesIn)
	results, err := conformance.Run(t.Context(), conformance.Subject{
		Name: "in only", Backend: sandboxtest.Backend(t, e), Spec: sandbox.Spec{Kind: "probe", Requires: &only},
	})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[conformance.Outcome]int{}
	for _, r := range results {
		outcomes[r.Outcome]++
		if r.Outcome != conformance.Pass && r.Detail == "" {
			t.Errorf("%s/%s: %s without a reason", r.Suite, r.Probe, r.Outcome)
		}
	}
	if outcomes[conformance.Fail] != 0 || outcomes[conformance.Pass] == 0 || outcomes[conformance.Skip] == 0 {
		t.Errorf("%v", outcomes)
	}
	if _, err := conformance.Run(t.Context(), conformance.Subject{}); err == nil {
		t.Error("a subject without a backend was probed")
	}
}

func TestASuiteThatMustRunIsAnErrorWithoutItsGate(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	subject := conformance.Subject{
		Backend: sandboxtest.Backend(t, e), Spec: sandbox.Spec{Kind: "probe", Requires: sandboxtest.Declarations(e).Capabilities},
		Only: []string{"FILES_OUT/nothing-there-is-said-so"}, Must: []string{"FILES_OUT", "REUSE"},
	}
	if results, err := conformance.Run(t.Context(), subject); err != nil || len(results) != 1 {
		t.Errorf("%v, %v", results, err)
	}
	for _, must := range []string{"EXEC", "no such suite"} {
		subject.Must = []string{must}
		if _, err := conformance.Run(t.Context(), subject); err == nil {
			t.Errorf("a subject that must run %s was probed without it", must)
		}
	}
	subject.Must, subject.Only = nil, []string{"FILES_OUT/no-such-probe"}
	if _, err := conformance.Run(t.Context(), subject); err == nil {
		t.Error("a probe that is not there was run")
	}
}
