// Command bare is a framework provider with the schemas of the real one and
// nothing behind them: nothing is checked, computed values stay unknown in plans,
// and the state is the plan. It is the peer that the real provider's plans are
// measured beside.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	sandboxprovider "github.com/sandbox-iac/terraform-provider-sandbox/internal/provider"
)

// bare has the schemas, data sources and functions of another provider. Of what
// a provider may implement besides it has nothing.
type bare struct{ provider.Provider }

// Configure keeps nothing.
func (bare) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

// Resources are those of the real provider without what they do.
func (b bare) Resources(ctx context.Context) []func() resource.Resource {
	factories := b.Provider.Resources(ctx)
	for i, real := range factories {
		factories[i] = func() resource.Resource { return inert{described: real()} }
	}
	return factories
}

// described is the part of a resource that says what it looks like.
type described interface {
	Metadata(context.Context, resource.MetadataRequest, *resource.MetadataResponse)
	Schema(context.Context, resource.SchemaRequest, *resource.SchemaResponse)
}

// inert is a resource that does nothing: it has no method that validates or
// modifies plans.
type inert struct{ described }

// Create keeps the plan; what it left open becomes some text, or null.
func (inert) Create(_ context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	state, err := settled(req.Plan.Raw)
	if err != nil {
		resp.Diagnostics.AddError("The plan could not be read", err.Error())
		return
	}
	resp.State.Raw = state
}

// Read keeps the state.
func (inert) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update keeps the plan; what it left open becomes some text, or null.
func (inert) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	state, err := settled(req.Plan.Raw)
	if err != nil {
		resp.Diagnostics.AddError("The plan could not be read", err.Error())
		return
	}
	resp.State.Raw = state
}

// Delete has nothing to do.
func (inert) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

func settled(plan tftypes.Value) (tftypes.Value, error) {
	return tftypes.Transform(plan, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if !v.IsKnown() && v.Type().Is(tftypes.String) {
			return tftypes.NewValue(v.Type(), "given"), nil // what refers to it may need one
		}
		if !v.IsKnown() {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return v, nil
	})
}

func main() {
	peer := bare{sandboxprovider.New("bare")()}
	err := providerserver.Serve(context.Background(), func() provider.Provider { return peer }, providerserver.ServeOpts{
		Address: "bare.invalid/bare/" + sandboxprovider.TypeName,
	})
	if err != nil {
		log.Fatal(err)
	}
}
