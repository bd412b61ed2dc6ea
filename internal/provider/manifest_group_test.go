package provider

import (
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

const teamGroupID = "/subscriptions/00000000-0000-0000-0000-0000000000aa/resourceGroups/rg/providers/Microsoft.App/sandboxGroups/team"

func TestAManifestCarriesItsGroup(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	group := map[string]any{"id": teamGroupID, "endpoint": "https://management.example:8443", "location": "swedencentral"}
	attrs := with(manifestOf(map[string]any{"report": spec(nil)}), map[string]any{"group": group})
	planned, diags := s.plan(t, "sandbox_manifest", nil, attrs)
	if failed(diags) {
		t.Fatal(render(diags))
	}
	m, err := manifest.Parse([]byte(text(t, planned, "document")))
	want := manifest.Group{ID: teamGroupID, Endpoint: "https://management.example:8443", Location: "swedencentral"}
	if err != nil || m.Group == nil || *m.Group != want {
		t.Errorf("%+v, %v", m.Group, err)
	}
}

func TestAManifestsGroupIsOneThatAHostCanBeConfiguredFor(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	for name, c := range map[string]struct {
		group map[string]any
		want  []string
	}{
		"an id alone":      {map[string]any{"id": teamGroupID}, nil},
		"no id":            {map[string]any{"location": "swedencentral"}, []string{"value.null at group.id"}},
		"no resource id":   {map[string]any{"id": "team"}, []string{"value.invalid_text at group.id"}},
		"a plain endpoint": {map[string]any{"id": teamGroupID, "endpoint": "http://a.example"}, []string{"service.endpoint_not_allowed at group.endpoint"}},
		"one with a path":  {map[string]any{"id": teamGroupID, "endpoint": "https://a.example/x"}, []string{"service.endpoint_not_allowed at group.endpoint"}},
	} {
		attrs := with(manifestOf(map[string]any{"report": spec(nil)}), map[string]any{"group": c.group})
		_, diags := s.plan(t, "sandbox_manifest", nil, attrs)
		if got := locators(diags); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Where the manifest's sandboxes are made is not what they may do: it is said, and
// widens nothing.
func TestAManifestsGroupMayMove(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	attrs := with(manifestOf(map[string]any{"report": spec(nil)}), map[string]any{"group": map[string]any{"id": teamGroupID}, "on_widening": "refuse"})
	first, diags := s.apply(t, "sandbox_manifest", nil, attrs)
	if failed(diags) {
		t.Fatal(render(diags))
	}
	moved := with(attrs, map[string]any{"group": map[string]any{"id": teamGroupID + "2"}})
	if _, diags := s.plan(t, "sandbox_manifest", &first, moved); failed(diags) {
		t.Error(render(diags))
	}
}
