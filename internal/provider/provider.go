// Package provider is everything Terraform, and nothing else: schemas, the
// mapping between Terraform values and domain values, and the diagnostics that
// show a refusal. It decides nothing itself; internal/policy does.
package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// TypeName is the provider's local name and the prefix of all its types.
const TypeName = "sandbox"

type sandboxProvider struct {
	version string
}

// New returns the constructor that the plugin server calls once per process.
// version is shown by Terraform's logs and carried in the user agent.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &sandboxProvider{version: version} }
}

func (p *sandboxProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = TypeName
	resp.Version = p.version
}

func (p *sandboxProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Declares sandboxes for code written by agents, and the one policy that is decided at plan and enforced at run.",
	}
}

func (p *sandboxProvider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

func (p *sandboxProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (p *sandboxProvider) Resources(context.Context) []func() resource.Resource { return nil }
