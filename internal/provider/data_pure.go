package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var (
	_ datasource.DataSource                   = (*pureData)(nil)
	_ datasource.DataSourceWithConfigure      = (*pureData)(nil)
	_ datasource.DataSourceWithValidateConfig = (*pureData)(nil)
)

// pureData is a data source that looks nothing up: its answer follows from its
// configuration and from what the provider's configuration imposes.
type pureData struct {
	name     string
	schema   func() schema.Schema
	evaluate func(config tftypes.Value, g *platformPolicy, p phase) (computed, diag.Diagnostics)

	// guard is what is imposed. It is nil in `terraform validate` and under mocks.
	guard *platformPolicy
}

func (d *pureData) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + d.name
}

func (d *pureData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = d.schema()
}

func (d *pureData) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	guard, diags := platformPolicyFrom(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	d.guard = guard
}

// ValidateConfig reports what certainly cannot be read, offline.
func (d *pureData) ValidateConfig(_ context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	_, diags := d.evaluate(req.Config.Raw, d.guard, validating)
	resp.Diagnostics.Append(diags...)
}

// Read answers. Terraform asks when all of the configuration is known.
func (d *pureData) Read(_ context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	values, diags := d.evaluate(req.Config.Raw, d.guard, planning)
	resp.Diagnostics.Append(refusals(d.guard.problems())...)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	filled, err := values.fill(req.Config.Raw)
	if err != nil {
		resp.Diagnostics.Append(providerFault(err))
		return
	}
	resp.State.Raw = filled
}
