package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Somebody pastes it and runs it.
func TestTheBlockThatImportsAnObjectSaysItsIDAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{
		"an id":              "/subscriptions/s/resourceGroups/rg/providers/Microsoft.App/sandboxGroups/g/volumes/work",
		"a template":         "g/${file(\"/etc/passwd\")}",
		"a directive":        "g/%{ if true }x%{ endif }",
		"an escaped one":     "g/$${x}",
		"a quote and a line": "g/\"\n}\nresource \"x\" \"y\" {",
		"control characters": "g/\x1b[2J\x07\u202e\U0001f600",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := (&existsError{kind: "volume", id: id, object: "volume"}).diagnostic().Detail()
			_, block, _ := strings.Cut(text, "plan again:")
			block = block[:strings.LastIndex(block, " }")+2]
			file, diags := hclsyntax.ParseConfig([]byte(block), "x.tf", hcl.InitialPos)
			if diags.HasErrors() {
				t.Fatalf("%v in %s", diags, block)
			}
			body, ok := file.Body.(*hclsyntax.Body)
			if !ok || len(body.Blocks) != 1 {
				t.Fatalf("other blocks: %s", block)
			}
			value, diags := body.Blocks[0].Body.Attributes["id"].Expr.Value(nil)
			if diags.HasErrors() || value.AsString() != id {
				t.Errorf("%v: %q in %s", diags, value, block)
			}
		})
	}
	if got := pasted("g/volumes/work"); got != `"g/volumes/work"` {
		t.Errorf("a plain id is %s", got)
	}
}
