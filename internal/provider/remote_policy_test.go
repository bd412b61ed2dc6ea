package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// What a platform imposes holds for what is declared of the service too.
func TestImposedPolicyHoldsForGroupsAndImages(t *testing.T) {
	t.Parallel()
	document, _ := policyDocument(t, sandbox.Policy{
		MaximumIdentityScope: sandbox.IdentityScopeNone,
		Images:               sandbox.ImagePolicy{Registries: []string{"registry.example.com"}, RequireDigest: true},
	})
	p := platform(map[string]string{envPolicyFile: "platform.json"}, map[string][]byte{"platform.json": document})
	imposed := newServer(t, p).configure(t, map[string]any{"embedded": map[string]any{"path": "nowhere/state.db"}})
	free := newServer(t, offline()).configure(t, map[string]any{"embedded": map[string]any{"path": "nowhere/state.db"}})
	image := func(reference string) map[string]any {
		return map[string]any{"group": someGroup, "image": map[string]any{"reference": reference}}
	}
	digest := "@sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		resource  string
		bad, good map[string]any
		want      string
	}{
		"identity": {
			"sandbox_group",
			map[string]any{"name": "team", "identity": map[string]any{"type": "SystemAssigned"}},
			map[string]any{"name": "team"},
			"identity.attached_not_permitted at identity",
		},
		"registry":  {"sandbox_disk_image", image("other.example.com/tool" + digest), image("registry.example.com/tool" + digest), "image.registry_denied at image.reference"},
		"no digest": {"sandbox_disk_image", image("registry.example.com/tool:1"), image("registry.example.com/tool:1" + digest), "image.digest_required at image.digest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, diags := imposed.plan(t, c.resource, nil, c.bad); !slices.Equal(locators(diags), []string{c.want}) {
				t.Errorf("found %q", locators(diags))
			}
			if _, diags := imposed.plan(t, c.resource, nil, c.good); len(diags) > 0 {
				t.Errorf("the neighbour: %s", render(diags))
			}
			if _, diags := free.plan(t, c.resource, nil, c.bad); failed(diags) {
				t.Errorf("with nothing imposed: %s", render(diags))
			}
		})
	}
}

// Workloads are handed the image whole, with what is known of it, in the first plan.
func TestADiskImageHandsOnWhatItIsMadeFrom(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, map[string]any{"embedded": map[string]any{"path": "nowhere/state.db"}})
	digest := "sha256:" + strings.Repeat("0", 64)
	planned, diags := s.plan(t, "sandbox_disk_image", nil, map[string]any{
		"group": notKnown{}, "image": map[string]any{"reference": "registry.example.com:5000/tool:1", "digest": digest, "user": "1654"},
	})
	if failed(diags) {
		t.Fatal(render(diags))
	}
	for name, want := range map[string]string{
		"reference": "registry.example.com:5000/tool@" + digest, "digest": digest, "user": "1654", "platform": "null", "id": "unknown",
	} {
		if got := text(t, planned, name); got != want {
			t.Errorf("%s is planned %s, want %s", name, got, want)
		}
	}
}
