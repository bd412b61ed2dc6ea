package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

var (
	_ datasource.DataSource                   = (*askingData)(nil)
	_ datasource.DataSourceWithConfigure      = (*askingData)(nil)
	_ datasource.DataSourceWithValidateConfig = (*askingData)(nil)
)

// askingData is a data source whose answer somebody else has. What is written wrong
// is refused offline, and nobody is asked in `terraform validate` or under mocks.
type askingData struct {
	name   string
	schema func() schema.Schema
	// check refuses what certainly cannot be asked. What is not known yet reads as
	// absent and is left alone.
	check func(o *object) []sandbox.Finding
	// ask answers a configuration that passed check and is known.
	ask func(ctx context.Context, o *object, types computedTypes, c *configured) (computed, error)

	configured *configured
}

func (d *askingData) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + d.name
}

func (d *askingData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = d.schema()
}

func (d *askingData) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	c, diags := configuredFrom(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	d.configured = c
}

// ValidateConfig reports what certainly cannot be asked, offline.
func (d *askingData) ValidateConfig(_ context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	_, diags := d.read(req.Config.Raw)
	resp.Diagnostics.Append(diags...)
}

// read opens the configuration and checks it.
func (d *askingData) read(config tftypes.Value) (*object, diag.Diagnostics) {
	r := &reading{}
	o, ok := r.open(config, nil)
	if !ok {
		return nil, refusals(r.findings)
	}
	findings := d.check(o)
	return o, refusals(append(r.findings, findings...))
}

// Read asks. Terraform does so when all of the configuration is known. Where a group
// is to be asked and the provider is not known yet it is put off, if Terraform can do
// that.
func (d *askingData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	c := d.configured
	if c == nil {
		c = &configured{}
	}
	o, diags := d.read(req.Config.Raw)
	resp.Diagnostics.Append(refusals(c.guard.problems())...)
	resp.Diagnostics.Append(diags...)
	if o != nil && o.text("group") != "" {
		if c.home != nil && !c.home.known() && req.ClientCapabilities.DeferralAllowed {
			resp.Deferred = &datasource.Deferred{Reason: datasource.DeferredReasonProviderConfigUnknown}
			return
		}
		resp.Diagnostics.Append(c.home.usable()...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	values, err := d.ask(ctx, o, attributesOf(req.Config.Raw.Type()), c)
	if err != nil {
		resp.Diagnostics.Append(d.failure(err)...)
		return
	}
	filled, err := values.fill(req.Config.Raw)
	if err != nil {
		resp.Diagnostics.Append(providerFault(err))
		return
	}
	resp.State.Raw = filled
}

// failure tells every refusal, and else what went wrong.
func (d *askingData) failure(err error) diag.Diagnostics {
	if all := sandbox.RefusalsOf(err); len(all) > 1 {
		return refusals(sandbox.FindingsAt(err, nil))
	}
	return diag.Diagnostics{problem("looking up", err)}
}
