package provider

import (
	"slices"
	"testing"
)

// Where an image is made, its registry's user needs a token. An image that exists needs
// none: who has moved here from another provider may have lost it.
func TestAnImageIsNotMadeForAUserWithoutAToken(t *testing.T) {
	t.Parallel()
	w := embeddedWorld(t)
	s := newServer(t, w.provider)
	s.configure(t, map[string]any{"embedded": map[string]any{"path": w.file}})
	if _, diags := s.apply(t, "sandbox_group", nil, map[string]any{"name": "team"}); failed(diags) {
		t.Fatal(render(diags))
	}
	image := func(more map[string]any) map[string]any {
		return with(map[string]any{
			"group": w.groupID("team").String(), "image": map[string]any{"reference": "registry.example.com/tool:1"}, "registry_username": "pull",
		}, more)
	}
	without, once := image(nil), image(map[string]any{"registry_token_wo": "made-up"})
	if _, diags := s.plan(t, "sandbox_disk_image", nil, without); !slices.Equal(locators(diags), []string{"value.missing at registry_token_wo"}) {
		t.Errorf("without a token: %s", render(diags))
	}
	for name, attrs := range map[string]map[string]any{
		"stored": image(map[string]any{"registry_token": "made-up"}), "not known yet": image(map[string]any{"registry_token_wo": notKnown{}}),
		"nobody": image(map[string]any{"registry_username": nil}),
	} {
		if _, diags := s.plan(t, "sandbox_disk_image", nil, attrs); len(diags) > 0 {
			t.Errorf("%s: %s", name, render(diags))
		}
	}
	planned, diags := s.plan(t, "sandbox_disk_image", nil, once)
	if len(diags) > 0 || text(t, planned, "registry_token_wo") != "null" {
		t.Fatalf("with one that is sent once: the plan has %s; %s", text(t, planned, "registry_token_wo"), render(diags))
	}
	made, diags := s.apply(t, "sandbox_disk_image", nil, once)
	if failed(diags) {
		t.Fatal(render(diags))
	}
	if _, diags := s.plan(t, "sandbox_disk_image", &made, without); len(diags) > 0 {
		t.Errorf("an image that exists: %s", render(diags))
	}
}
