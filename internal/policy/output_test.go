package policy_test

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The landing name is judged on its own, so that a good one must not let a bad
// path pass.
func TestOutputPathStaysBelowTheWorkDirectoryWhateverItsName(t *testing.T) {
	t.Parallel()
	requires := sandbox.SetOf(sandbox.CapabilityFilesOut)
	for path, accepted := range map[string]bool{
		"b.csv": true, "out/b.csv": true, "out/../b.csv": true,
		"../b.csv": false, "out/../../b.csv": false, "/b.csv": false, ".": false, "": false,
	} {
		_, findings := policy.CompileSpec(sandbox.Spec{
			Kind: "codeact", Requires: &requires,
			Outputs: map[string]sandbox.Output{"b": {Path: path, Name: "b.csv"}},
		}, sandbox.Known{})
		if refused := len(findings) > 0; refused == accepted {
			t.Errorf("path %q: %+v", path, findings)
		}
	}
}
