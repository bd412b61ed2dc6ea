package router_test

import (
	"errors"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// placed is the fake backend in a group.
type placed struct {
	*fakeBackend

	place sandbox.Place
}

func (p placed) Place() sandbox.Place { return p.place }

// A manifest chooses among the places that the host configured and never adds one.
func TestAManifestChoosesAmongTheHostsPlaces(t *testing.T) {
	t.Parallel()
	const one, two = "/subscriptions/s/one", "/subscriptions/s/two"
	const here, there = "https://here.example", "https://there.example"
	for name, c := range map[string]struct {
		group  *manifest.Group
		places []sandbox.Place
		chosen int
		code   sandbox.Code
	}{
		"the only one":                       {&manifest.Group{ID: one}, []sandbox.Place{{Group: one, Endpoint: here}}, 0, ""},
		"the second of two groups":           {&manifest.Group{ID: two}, []sandbox.Place{{Group: one, Endpoint: here}, {Group: two, Endpoint: here}}, 1, ""},
		"the second of two endpoints":        {&manifest.Group{ID: one, Endpoint: there}, []sandbox.Place{{Group: one, Endpoint: here}, {Group: one, Endpoint: there}}, 1, ""},
		"an endpoint of its own":             {&manifest.Group{ID: one, Endpoint: "https://here.example.evil.example"}, []sandbox.Place{{Group: one, Endpoint: here}}, 0, sandbox.CodeEndpointNotAllowed},
		"a group of its own":                 {&manifest.Group{ID: "/subscriptions/s/three"}, []sandbox.Place{{Group: one, Endpoint: here}}, 0, sandbox.CodeEndpointNotAllowed},
		"no group, and one place":            {nil, []sandbox.Place{{Group: one, Endpoint: here}}, 0, ""},
		"no group, and two places":           {nil, []sandbox.Place{{Group: one, Endpoint: here}, {Group: two, Endpoint: here}}, 0, sandbox.CodeOptionsInvalid},
		"a group in two places":              {&manifest.Group{ID: one}, []sandbox.Place{{Group: one, Endpoint: here}, {Group: one, Endpoint: there}}, 0, sandbox.CodeOptionsInvalid},
		"a group, and backends with no name": {&manifest.Group{ID: one}, []sandbox.Place{{}}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := aManifest()
			m.Group = c.group
			var backends []router.Backend
			var fakes []*fakeBackend
			for _, place := range c.places {
				f := newFake(t, "fake")
				fakes = append(fakes, f)
				backends = append(backends, placed{f, place})
			}
			r, err := open(t, m, nil, backends...)
			if c.code != "" {
				if !errors.Is(err, c.code) {
					t.Errorf("%v, want %s", err, c.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			lease, err := mustAttach(t, r, "report").Acquire(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = lease.Close(t.Context()) }()
			for i, f := range fakes {
				if _, made, _ := f.counts(); (made == 1) != (i == c.chosen) {
					t.Errorf("backend %d made %d", i, made)
				}
			}
		})
	}
}
