package provider

import (
	"context"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/prebuilt"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// mayAsk refuses a registry that the imposed policy does not admit, before it is
// asked anything.
func (c *configured) mayAsk(reference string) []sandbox.Finding {
	wait := func(what string) []sandbox.Finding {
		return []sandbox.Finding{{
			Code: sandbox.CodeUndecided, Path: sandbox.Path("reference"), Found: what + " is not known yet",
			Required: "a known value before a registry is asked", Remedy: "write it literally, or from a variable",
		}}
	}
	if c.registriesOpen {
		return wait("registries of the provider block")
	}
	for _, layer := range c.guard.layers() {
		allowed := layer.Policy.Images.Registries
		registry := sandbox.Image{Reference: reference}.Registry()
		switch {
		case !layer.Known.Everything():
			return wait(layer.Source)
		case allowed != nil && !slices.Contains(allowed, registry):
			return []sandbox.Finding{{
				Code: sandbox.CodeImageRegistryDenied, Path: sandbox.Path("reference"), Found: sandbox.Echo(reference),
				Required: "a registry that " + layer.Source + " lists",
				Remedy:   "copy the image to a listed registry, or ask for the registry to be listed",
			}}
		}
	}
	return nil
}

// catalogue is what a group's region offers by name, or what is shipped where no
// group is given. What was just asked for has no date: it would be another every day.
func (c *configured) catalogue(ctx context.Context, group string) (prebuilt.Catalogue, error) {
	if group == "" {
		return prebuilt.Snapshot(), nil
	}
	id, err := acasapi.ParseGroupID(group)
	if err != nil {
		return prebuilt.Catalogue{}, err
	}
	plane, err := c.home.group(ctx, id)
	if err != nil {
		return prebuilt.Catalogue{}, adviseAbsent(err)
	}
	live := prebuilt.Catalogue{Source: prebuilt.SourceService}
	for image, err := range plane.PublicImages(ctx) {
		if err != nil {
			return prebuilt.Catalogue{}, err
		}
		live.Images = append(live.Images, prebuilt.Image{Name: image.Name})
	}
	return live, nil
}
