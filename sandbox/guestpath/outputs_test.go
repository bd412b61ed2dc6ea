package guestpath_test

import (
	"maps"
	"slices"
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
	type outputs = map[string]sandbox.Output
	for name, test := range map[string]struct {
		outputs outputs
		want    []string // code at path
	}{
		"nothing":               {nil, nil},
		"plain":                 {outputs{"a": land("a.txt", ""), "b": land("d/b.txt", "b")}, nil},
		"a path that climbs":    {outputs{"a": land("../a", "")}, []string{`output.name_invalid at outputs["a"].path`}},
		"to consume as well":    {outputs{"a": consume("../a")}, []string{`output.name_invalid at outputs["a"].path`}},
		"no guest path":         {outputs{"a": land("a\u0085", "")}, []string{`spec.output_invalid at outputs["a"].path`}},
		"a bad landing name":    {outputs{"a": land("a", "/a")}, []string{`output.name_invalid at outputs["a"].name`}},
		"two that meet":         {outputs{"a": land("x", ""), "b": land("d/x", "X")}, []string{`output.name_collision at outputs["b"]`}},
		"one that stays behind": {outputs{"a": land("x", ""), "b": consume("X")}, nil},
		"all at once": {outputs{"a": land("", ""), "b": land("b", ""), "c": land("B", "")}, []string{
			`output.name_invalid at outputs["a"].path`, `output.name_collision at outputs["c"]`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var declared []guestpath.OutputAt
			for _, name := range slices.Sorted(maps.Keys(test.outputs)) {
				declared = append(declared, guestpath.OutputAt{At: sandbox.Path("outputs", sandbox.MapKey(name)), Output: test.outputs[name]})
			}
			findings := guestpath.CheckOutputs("", declared, guestpath.NormalizeArtifactName)
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
