package provider

import (
	"strings"
	"testing"
)

// Keys that the product puts there itself would vanish from the state.
func TestATagOfTheProductsOwnIsRefusedWhereItIsWritten(t *testing.T) {
	t.Parallel()
	for key, refused := range map[string]bool{"sandbox.note": true, "sandbox.creation": true, "sandbox": false, "note": false} {
		diags := newServer(t, offline()).validate(t, "sandbox_group", map[string]any{"name": "team", "tags": map[string]any{key: "x"}})
		if failed(diags) != refused || (refused && !strings.Contains(render(diags), `tags["`+key+`"]`)) {
			t.Errorf("%s: %s", key, render(diags))
		}
	}
}
