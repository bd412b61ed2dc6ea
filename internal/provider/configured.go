package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/imageregistry"
)

// configured is what the provider hands to its objects: what is imposed on them,
// where those live that live somewhere, and which registries may be asked.
type configured struct {
	guard *platformPolicy
	home  *home
	// registries may be asked what a reference names.
	registries *imageregistry.Client
	// registriesOpen says that which ones is not known yet.
	registriesOpen bool
}

// configuredFrom takes what the provider handed to an object that is being
// configured, which is nothing while Terraform only validates.
func configuredFrom(data any) (*configured, diag.Diagnostics) {
	if data == nil {
		return nil, nil
	}
	c, ok := data.(*configured)
	if !ok {
		return nil, diag.Diagnostics{providerFault(fmt.Errorf("configure an object from %T", data))}
	}
	return c, nil
}

// platformPolicyFrom takes what is imposed from what the provider handed over.
func platformPolicyFrom(data any) (*platformPolicy, diag.Diagnostics) {
	c, diags := configuredFrom(data)
	if c == nil {
		return nil, diags
	}
	return c.guard, diags
}
