package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// What Terraform plans of a computed attribute that nobody wrote is unknown, which is
// no place that comes to be known.
func TestAGroupWithoutAPlaceIsRefusedByThePlan(t *testing.T) {
	t.Parallel()
	planned := func(acas map[string]any) (tftypes.Value, string) {
		block := with(map[string]any{
			"subscription_id": embeddedSubscription, "resource_group": "rg", "endpoint": "https://127.0.0.1:1", "emulator": true,
		}, acas)
		p := &sandboxProvider{getenv: func(string) string { return "" }}
		plan, diags := newServer(t, p).configure(t, map[string]any{"acas": block}).plan(t, "sandbox_group", nil, map[string]any{"name": "team"})
		return plan, render(diags)
	}
	_, said := planned(nil)
	for _, word := range []string{"value.missing at location", "acas.location", "AZURE_LOCATION"} {
		if !strings.Contains(said, word) {
			t.Errorf("without a location: %q is not in %s", word, said)
		}
	}
	if plan, said := planned(map[string]any{"location": "swedencentral"}); said != "" || text(t, plan, "location") != "swedencentral" {
		t.Errorf("with a location: %s", said)
	}
}
