package hclsource

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// The shapes have the names of the published documents, but for what only
// Terraform has and for the one name that is turned around there.
func TestShapesHaveTheNamesOfTheDocuments(t *testing.T) {
	t.Parallel()
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(manifest.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	all := newShapes()
	rules := all.policy.names["egress_rules"].element
	for document, row := range map[string]struct {
		shape *shape
		only  []string
	}{
		"policy":   {all.policy, []string{"accept_widening", "digest", "on_widening"}},
		"workload": {all.workload, []string{"backend_facts", "digest", "findings", "policy", "verdict"}},
		"rule":     {rules, nil},
		"limits":   {all.policy.names["files_in_limits"], nil},
		"image":    {all.workload.names["image"], nil},
		"output":   {all.workload.names["outputs"].element, nil},
	} {
		want := slices.Clone(row.only)
		for name := range schema.Defs[document].Properties {
			want = append(want, name)
		}
		slices.Sort(want)
		if got := sortedKeys(row.shape.names); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", document, got, want)
		}
	}
}
