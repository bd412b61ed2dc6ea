package adopt_test

import (
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/adopt"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Whatever a state says, the answer is a refusal with a code, or a file with an import
// for every object, a removed block for all that is let go of, and no other kinds of
// blocks.
func FuzzAStateIsTakenOverOrRefused(f *testing.F) {
	groups := `{"address":"azapi_resource.g","mode":"managed","type":"azapi_resource","name":"g","values":{"type":"Microsoft.App/sandboxGroups@2026-02-01-preview","id":"` + team().String() + `","name":"team","location":"westeurope"}}`
	images := `{"address":"aca_sandbox_disk_image.tool[\"a\"]","mode":"managed","type":"aca_sandbox_disk_image","name":"tool","index":"a","values":{"sandbox_group_id":"` + team().String() + `","id":"1","base_image":"registry.example.com/tool:1","labels":{"${x}":"%{if}"}}}`
	sandboxes := `{"address":"aca_sandbox.s","mode":"managed","type":"aca_sandbox","name":"s","values":{"sandbox_group_id":"` + team().String() + `","egress_policy":{"default_action":"Deny","host_rules":[{"pattern":"*","action":"Allow"}],` +
		`"rules":[{"name":"r","match":{"host":"a.example","methods":["GET"]},"action":{"type":"Transform","headers":[{"operation":"Set","name":"x"}]}}]}}}`
	for _, resources := range []string{"", groups, images, sandboxes, groups + "," + images + "," + sandboxes} {
		f.Add([]byte(`{"format_version":"1.0","values":{"root_module":{"resources":[` + resources + `]}}}`))
	}
	f.Add([]byte(strings.Repeat("[", 1000)))
	f.Fuzz(func(t *testing.T, document []byte) {
		a, err := adopt.FromACA(document)
		if err != nil {
			if sandbox.RefusalOf(err) == nil {
				t.Errorf("no refusal: %v", err)
			}
			return
		}
		imports, removed := 0, 0
		for _, block := range blocks(t, a.HCL) {
			switch kind, _, _ := strings.Cut(block, " "); kind {
			case "import":
				imports++
			case "removed":
				removed++
			case "terraform", "provider", "variable", "resource":
			default:
				t.Errorf("a block %q", block)
			}
		}
		if imports != len(a.Objects) || removed > len(a.Forgotten) {
			t.Errorf("%d imports of %d objects, %d removed blocks of %d\n%s", imports, len(a.Objects), removed, len(a.Forgotten), a.HCL)
		}
	})
}
