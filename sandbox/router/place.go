package router

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Placed is a backend whose sandboxes are made in one place that a manifest can name.
// A host may register several of one name, each in another place, and the manifest
// chooses among them; it never adds one.
type Placed interface {
	Backend
	Place() sandbox.Place
}

// placeOf is where a backend makes its sandboxes, and whether that has a name.
func placeOf(b Backend) (sandbox.Place, bool) {
	placed, ok := b.(Placed)
	if !ok {
		return sandbox.Place{}, false
	}
	place := placed.Place()
	return place, place != sandbox.Place{}
}

// choose keeps the backends that may serve the manifest: of those that have a place
// the ones in the place that it names.
func choose(m manifest.Manifest, backends []Backend) ([]Backend, []sandbox.Finding) {
	if m.Group == nil {
		return backends, nil
	}
	var chosen []Backend
	var elsewhere []string
	found := false
	for _, b := range backends {
		place, placed := placeOf(b)
		switch {
		case !placed:
			chosen = append(chosen, b)
		case place.Is(m.Group.ID, m.Group.Endpoint):
			chosen, found = append(chosen, b), true
		default:
			elsewhere = append(elsewhere, place.Group+" at "+place.Endpoint)
		}
	}
	if found || len(elsewhere) == 0 {
		return chosen, nil
	}
	return nil, []sandbox.Finding{{
		Code: sandbox.CodeEndpointNotAllowed, Path: sandbox.Path("group"), Found: m.Group.String(),
		Required: "a group and an endpoint that this host is configured for: " + strings.Join(elsewhere, "; "),
		Remedy:   "configure the host's backend for the group, or open the manifest of the group that it has",
	}}
}

// named refuses two backends of one name.
func named(backends []Backend) []sandbox.Finding {
	var findings []sandbox.Finding
	seen := map[string]bool{}
	for i, b := range backends {
		if seen[b.Name()] {
			findings = append(findings, sandbox.Finding{
				Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("options", "backends", i),
				Found: "a second backend named " + sandbox.Echo(b.Name()), Required: "each name once, or in places of which the manifest names one",
				Remedy: "register one of them",
			})
		}
		seen[b.Name()] = true
	}
	return findings
}
