package provider

import (
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/prebuilt"
)

func TestPrebuiltImageDataGivesTheNameAndItsCatalogue(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	shipped := prebuilt.Snapshot()
	for name, want := range map[string][2]string{"python-3.13": {"null", "null"}, "node-22": {"0", "true"}} {
		state, diags := s.read(t, "sandbox_prebuilt_image", map[string]any{"name": name})
		if failed(diags) {
			t.Fatal(render(diags))
		}
		for attribute, want := range map[string]string{
			"prebuilt": name, "platform": "linux/amd64", "user": want[0], "root": want[1],
			"catalogue_source": "snapshot", "catalogue_date": shipped.Date, "catalogue_digest": shipped.Digest(),
		} {
			if got := said(t, attrsOf(t, state)[attribute]); got != want {
				t.Errorf("%s: %s is %s, want %s", name, attribute, got, want)
			}
		}
	}
}

func TestPrebuiltImageDataRefusesWhatTheCatalogueDoesNotHave(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	for name, offline := range map[string]bool{"python-3.15": false, "Python-3.13": false, "python:3.13": true, "docker.io/library/python": true, "": true} {
		_, diags := s.read(t, "sandbox_prebuilt_image", map[string]any{"name": name})
		if !slices.Equal(locators(diags), []string{"image.prebuilt_unknown at name"}) {
			t.Errorf("%q: %s", name, render(diags))
		}
		// Another region's catalogue may have the name; no catalogue has a tag.
		if got := s.validateData(t, "sandbox_prebuilt_image", map[string]any{"name": name}); (len(got) > 0) != offline {
			t.Errorf("%q in validate: %s", name, render(got))
		}
	}
	if got := s.validateData(t, "sandbox_prebuilt_image", map[string]any{"name": notKnown{}}); len(got) > 0 {
		t.Error(render(got))
	}
}

func TestPrebuiltImagesDataListsTheCatalogue(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*server{"configured": newServer(t, offline()).configure(t, nil), "not configured": newServer(t, offline())} {
		state, diags := p.read(t, "sandbox_prebuilt_images", map[string]any{})
		if failed(diags) {
			t.Fatalf("%s: %s", name, render(diags))
		}
		if got := listOf(t, attrsOf(t, state)["names"]); !slices.Equal(got, prebuilt.Snapshot().Names()) {
			t.Errorf("%s: names %q", name, got)
		}
	}
}

func TestCatalogueOfAGroupNeedsAPlaceWhereGroupsLive(t *testing.T) {
	t.Parallel()
	const group = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg-agents/providers/Microsoft.App/sandboxGroups/team"
	for _, name := range []string{"sandbox_prebuilt_image", "sandbox_prebuilt_images"} {
		attrs := map[string]any{"group": group}
		if name == "sandbox_prebuilt_image" {
			attrs["name"] = "python-3.13"
		}
		s := newServer(t, offline()).configure(t, nil)
		if _, diags := s.read(t, name, attrs); !slices.Equal(locators(diags), []string{"remote.no_block"}) {
			t.Errorf("%s without a block: %s", name, render(diags))
		}
		if diags := s.validateData(t, name, attrs); len(diags) > 0 {
			t.Errorf("%s in validate: %s", name, render(diags))
		}
		if diags := s.validateData(t, name, with(attrs, map[string]any{"group": "team"})); len(diags) != 1 {
			t.Errorf("%s of no group: %s", name, render(diags))
		}
		if diags := s.validateData(t, name, with(attrs, map[string]any{"group": notKnown{}})); len(diags) > 0 {
			t.Errorf("%s of a group that is not known yet: %s", name, render(diags))
		}
		waiting := newServer(t, offline()).configure(t, map[string]any{"acas": map[string]any{"resource_group": notKnown{}}})
		if _, diags := waiting.read(t, name, attrs); !failed(diags) {
			t.Errorf("%s is read though the provider is not known yet", name)
		}
	}
}
