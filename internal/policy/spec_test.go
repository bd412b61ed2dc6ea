package policy_test

import (
	"errors"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The landing name is judged on its own, so that a good one must not let a bad
// path pass. The rules are those of collection: a path that it would refuse is
// refused here.
func TestOutputPathStaysBelowTheWorkDirectoryWhateverItsName(t *testing.T) {
	t.Parallel()
	requires := sandbox.SetOf(sandbox.CapabilityFilesOut)
	for path, accepted := range map[string]bool{
		"b.csv": true, "out/b.csv": true, "out/../b.csv": false, "./b.csv": false, "out//b.csv": false,
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

// What is not known yet is not the default: the default may be what a backend
// lacks.
func TestRequirementsThatAreNotKnownAreNotTheDefault(t *testing.T) {
	t.Parallel()
	spec := sandbox.Spec{Kind: "codeact"}
	if s, _ := policy.CompileSpec(spec, sandbox.Known{}); s.Required() != sandbox.DefaultCapabilities() {
		t.Errorf("unstated requirements are %s", s.Required())
	}
	s, _ := policy.CompileSpec(spec, sandbox.Known{}.Unknown(sandbox.Path("requires")))
	if !s.Required().Empty() {
		t.Errorf("unknown requirements are %s", s.Required())
	}
}

func TestOutputsAreReadThroughFilesOut(t *testing.T) {
	t.Parallel()
	with, without := sandbox.SetOf(sandbox.CapabilityFilesOut), sandbox.SetOf(sandbox.CapabilityExec)
	declared := map[string]sandbox.Output{"a": {Path: "a.txt"}}
	consumed := map[string]sandbox.Output{"a": {Path: "a.txt", Disposition: sandbox.DispositionConsume}}
	for name, row := range map[string]struct {
		spec     sandbox.Spec
		accepted bool
	}{
		"outputs with files_out":         {sandbox.Spec{Requires: &with, Outputs: declared}, true},
		"outputs without it":             {sandbox.Spec{Requires: &without, Outputs: declared}, false},
		"outputs under the default":      {sandbox.Spec{Outputs: declared}, false},
		"outputs that are only consumed": {sandbox.Spec{Requires: &without, Outputs: consumed}, false},
		"outputs named at call time":     {sandbox.Spec{Requires: &without, OutputsNamedAtCallTime: true}, false},
		"no outputs without it":          {sandbox.Spec{Requires: &without}, true},
	} {
		row.spec.Kind = "codeact"
		_, findings := policy.CompileSpec(row.spec, sandbox.Known{})
		err := sandbox.Decide(findings).Err()
		if row.accepted != (err == nil) || !row.accepted && !errors.Is(err, sandbox.CodeOutputsNeedFilesOut) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
