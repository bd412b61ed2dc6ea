package provider

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/prebuilt"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
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

// region is a catalogue that a group's region answers.
type region struct {
	catalogue prebuilt.Catalogue
	err       error
}

func (r region) Catalogue(context.Context) (prebuilt.Catalogue, error) { return r.catalogue, r.err }

func TestLiveCatalogueReplacesTheShippedOne(t *testing.T) {
	t.Parallel()
	typ := attributesOf(prebuiltImageSchema().Type().TerraformType(t.Context()))
	live := region{catalogue: prebuilt.Catalogue{Source: prebuilt.SourceService, Date: "2027-01-01", Images: []prebuilt.Image{{Name: "rust-1.90"}}}}
	ask := func(name string, from catalogueSource) (computed, error) {
		r := &reading{}
		s := newServer(t, offline())
		kind := s.dataType(t, "sandbox_prebuilt_image")
		o, _ := r.open(value(t, kind, map[string]any{"name": name}), nil)
		return askPrebuilt(t.Context(), o, typ, &lookups{catalogue: from})
	}
	values, err := ask("rust-1.90", live)
	if err != nil || !values["catalogue_source"].Equal(textValue("service")) || !values["catalogue_date"].Equal(textValue("2027-01-01")) {
		t.Errorf("%v, %v", values, err)
	}
	if _, err := ask("python-3.13", live); err == nil || !strings.Contains(err.Error(), "service of 2027-01-01") {
		t.Error(err)
	}
	failing := region{err: sandbox.Finding{Code: sandbox.CodeServiceForbidden, Found: "status 403"}.Refusal(nil)}
	if _, err := ask("python-3.13", failing); err == nil {
		t.Error("a catalogue that cannot be read answers")
	}
}
