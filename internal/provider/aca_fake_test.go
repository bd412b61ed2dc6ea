package provider

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	tfaddr "github.com/hashicorp/terraform-registry-address"
)

// Where the providers of others come from.
const (
	acaAddress   = string(tfaddr.DefaultProviderRegistryHost) + "/azure/aca"
	azapiAddress = string(tfaddr.DefaultProviderRegistryHost) + "/azure/azapi"
)

// otherProvider has the schemas of somebody else's provider, and knows what it was
// asked: a move to another provider makes, changes and deletes nothing there.
type otherProvider struct {
	name      string
	resources map[string]schema.Schema
	touched   atomic.Int32
}

func (p *otherProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = p.name
}
func (p *otherProvider) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}
func (p *otherProvider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}
func (p *otherProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (p *otherProvider) Resources(context.Context) []func() resource.Resource {
	var all []func() resource.Resource
	for name, described := range p.resources {
		all = append(all, func() resource.Resource { return &otherResource{p, name, described} })
	}
	return all
}

// otherResource stays as the state has it.
type otherResource struct {
	of        *otherProvider
	name      string
	described schema.Schema
}

func (r *otherResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = r.name
}

func (r *otherResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.described
}

func (r *otherResource) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {
	r.of.touched.Add(1)
}

func (r *otherResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (r *otherResource) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {
	r.of.touched.Add(1)
}

func (r *otherResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {
	r.of.touched.Add(1)
}

// untouched wants that nothing was asked of it.
func (p *otherProvider) untouched(t *testing.T) {
	t.Helper()
	if n := p.touched.Load(); n != 0 {
		t.Errorf("provider %s was asked to change %d objects", p.name, n)
	}
}

// userTexts are attributes of which the value is the user's own.
func userTexts(names ...string) map[string]schema.Attribute {
	all := map[string]schema.Attribute{}
	for _, name := range names {
		all[name] = schema.StringAttribute{Optional: true, Computed: true}
	}
	return all
}

func nested(attributes map[string]schema.Attribute) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Optional: true, Attributes: attributes}
}

// newACA has the attributes of spec/acas-api.md appendix A that a state holds.
func newACA() *otherProvider {
	list := schema.ListAttribute{Optional: true, ElementType: types.StringType}
	texts := schema.MapAttribute{Optional: true, ElementType: types.StringType}
	image := userTexts("sandbox_group_id", "location", "endpoint", "name", "base_image", "managed_identity_resource_id", "managed_identity_client_id",
		"registry_username", "deletion_policy", "id", "resource_url", "status", "status_message")
	image["entrypoint"], image["command"], image["labels"] = list, list, texts
	image["registry_token_wo"] = schema.StringAttribute{Optional: true, Sensitive: true, WriteOnly: true}

	header := userTexts("operation", "name")
	header["value"] = schema.StringAttribute{Optional: true, Sensitive: true}
	action := userTexts("type", "host", "path", "scheme")
	action["headers"] = schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: header}}
	match := userTexts("host", "path")
	match["methods"] = schema.SetAttribute{Optional: true, ElementType: types.StringType}
	rule := userTexts("name")
	rule["match"], rule["action"] = nested(match), nested(action)
	egress := userTexts("default_action", "traffic_inspection")
	egress["host_rules"] = schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: userTexts("pattern", "action")}}
	egress["rules"] = schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: rule}}
	sandbox := userTexts("sandbox_group_id", "location", "name", "deletion_policy", "id", "resource_url", "state")
	sandbox["source"] = nested(userTexts("public_disk_image", "private_disk_image_id", "preset"))
	sandbox["labels"], sandbox["environment"] = texts, texts
	sandbox["management_url"] = schema.StringAttribute{Computed: true, Sensitive: true}
	sandbox["skip_egress_proxy"] = schema.BoolAttribute{Optional: true}
	sandbox["egress_policy"] = nested(egress)
	return &otherProvider{name: "aca", resources: map[string]schema.Schema{
		"aca_sandbox_disk_image": {Attributes: image, Version: 1}, "aca_sandbox": {Attributes: sandbox, Version: 1},
	}}
}

// newAzapi has what the other provider's own module makes groups with.
func newAzapi() *otherProvider {
	group := userTexts("type", "name", "parent_id", "location", "id")
	group["tags"] = schema.MapAttribute{Optional: true, ElementType: types.StringType}
	group["body"] = schema.DynamicAttribute{Optional: true}
	identity := userTexts("type")
	identity["identity_ids"] = schema.ListAttribute{Optional: true, ElementType: types.StringType}
	return &otherProvider{name: "azapi", resources: map[string]schema.Schema{"azapi_resource": {
		Attributes: group, Blocks: map[string]schema.Block{"identity": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: identity}}},
	}}}
}
