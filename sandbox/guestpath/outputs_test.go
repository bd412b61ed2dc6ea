package guestpath_test

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

func TestDeclaredOutputsAreJudgedWhereTheyWereDeclared(t *testing.T) {
	t.Parallel()
	land := func(path, name string) sandbox.Output { return sandbox.Output{Path: path, Name: name} }
	consume := func(path string) sandbox.Output {
		return sandbox.Output{Path: path, Disposition: sandbox.DispositionConsume}
	}
	files := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesOut)
	type outputs = map[string]sandbox.Output
	for name, test := range map[string]struct {
		spec sandbox.Spec
		want []string // code at path
	}{
		"nothing":               {sandbox.Spec{}, nil},
		"plain":                 {sandbox.Spec{Requires: &files, Outputs: outputs{"a": land("a.txt", ""), "b": land("d/b.txt", "b")}}, nil},
		"without files_out":     {sandbox.Spec{Outputs: outputs{"a": consume("a")}}, []string{"spec.outputs_need_files_out at requires"}},
		"named at call time":    {sandbox.Spec{OutputsNamedAtCallTime: true}, []string{"spec.outputs_need_files_out at requires"}},
		"a path that climbs":    {sandbox.Spec{Requires: &files, Outputs: outputs{"a": land("../a", "")}}, []string{`output.name_invalid at outputs["a"].path`}},
		"to consume as well":    {sandbox.Spec{Requires: &files, Outputs: outputs{"a": consume("../a")}}, []string{`output.name_invalid at outputs["a"].path`}},
		"no guest path":         {sandbox.Spec{Requires: &files, Outputs: outputs{"a": land("a\u0085", "")}}, []string{`spec.output_invalid at outputs["a"].path`}},
		"a bad landing name":    {sandbox.Spec{Requires: &files, Outputs: outputs{"a": land("a", "/a")}}, []string{`output.name_invalid at outputs["a"].name`}},
		"two that meet":         {sandbox.Spec{Requires: &files, Outputs: outputs{"a": land("x", ""), "b": land("d/x", "X")}}, []string{`output.name_collision at outputs["b"]`}},
		"one that stays behind": {sandbox.Spec{Requires: &files, Outputs: outputs{"a": land("x", ""), "b": consume("X")}}, nil},
		"all at once": {sandbox.Spec{Outputs: outputs{"a": land("", ""), "b": land("b", ""), "c": land("B", "")}}, []string{
			"spec.outputs_need_files_out at requires", `output.name_invalid at outputs["a"].path`, `output.name_collision at outputs["c"]`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findings := guestpath.ValidateOutputs(test.spec)
			var got []string
			for _, f := range findings {
				if f.Found == "" || f.Required == "" || f.Remedy == "" || f.Verdict != sandbox.Deny {
					t.Errorf("%+v does not say enough", f)
				}
				got = append(got, f.Locator())
			}
			if len(got) != len(test.want) {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			for i := range got {
				if got[i] != test.want[i] {
					t.Errorf("got %q, want %q", got[i], test.want[i])
				}
			}
		})
	}
}
