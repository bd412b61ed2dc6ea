package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
)

// remoteData is a data source that asks the service. M is its model, which ask fills
// in.
type remoteData[M any] struct {
	name   string
	schema func() schema.Schema
	ask    func(ctx context.Context, h *home, m *M) error

	home *home
}

func (d *remoteData[M]) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + d.name
}

func (d *remoteData[M]) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = d.schema()
}

func (d *remoteData[M]) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	data, diags := configuredFrom(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	if data != nil {
		d.home = data.home
	}
}

// Read asks the service. Where the provider is not configured yet it is put off, if
// Terraform can do that.
func (d *remoteData[M]) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	if d.home != nil && !d.home.known() && req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &datasource.Deferred{Reason: datasource.DeferredReasonProviderConfigUnknown}
		return
	}
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	resp.Diagnostics.Append(d.home.usable()...)
	if resp.Diagnostics.HasError() {
		return
	}
	if err := d.ask(ctx, d.home, &m); err != nil {
		resp.Diagnostics.Append(problem("reading", err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}
