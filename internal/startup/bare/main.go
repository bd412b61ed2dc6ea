// Command bare is the least that a framework provider can be: no resources, no
// attributes, nothing linked besides the framework. It is the peer that the real
// provider's start is measured against.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

type bare struct{}

func (bare) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "bare"
}
func (bare) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (bare) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (bare) DataSources(context.Context) []func() datasource.DataSource                        { return nil }

func (bare) Resources(context.Context) []func() resource.Resource { return nil }

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return bare{} }, providerserver.ServeOpts{
		Address: "bare.invalid/bare/bare",
	})
	if err != nil {
		log.Fatal(err)
	}
}
