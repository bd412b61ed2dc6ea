package provider

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/prebuilt"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/imageregistry"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// lookups is what the provider hands to data sources: what is imposed on them, and
// whom they may ask.
type lookups struct {
	guard *platformPolicy
	// registries may be asked what a reference names.
	registries *imageregistry.Client
	// registriesOpen says that the provider block's registries are not known yet.
	registriesOpen bool
	// catalogue is where catalogue names are looked up.
	catalogue catalogueSource
}

// catalogueSource gives the images that can be named. What is shipped is one; a
// group on the service is another.
type catalogueSource interface {
	Catalogue(ctx context.Context) (prebuilt.Catalogue, error)
}

// shippedCatalogue is the dated list that comes with the provider.
type shippedCatalogue struct{}

func (shippedCatalogue) Catalogue(context.Context) (prebuilt.Catalogue, error) {
	return prebuilt.Snapshot(), nil
}

// lookupsFrom takes what the provider handed to a data source that is being
// configured, which is nothing while Terraform only validates.
func lookupsFrom(data any) (*lookups, diag.Diagnostics) {
	if data == nil {
		return nil, nil
	}
	l, ok := data.(*lookups)
	if !ok {
		return nil, diag.Diagnostics{providerFault(fmt.Errorf("configure a data source from %T", data))}
	}
	return l, nil
}

// mayAsk refuses a registry that the imposed policy does not admit, before it is
// asked anything.
func (l *lookups) mayAsk(reference string) []sandbox.Finding {
	wait := func(what string) []sandbox.Finding {
		return []sandbox.Finding{{
			Code: sandbox.CodeUndecided, Path: sandbox.Path("reference"), Found: what + " is not known yet",
			Required: "a known value before a registry is asked", Remedy: "write it literally, or from a variable",
		}}
	}
	if l.registriesOpen {
		return wait("registries of the provider block")
	}
	for _, layer := range l.guard.layers() {
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
