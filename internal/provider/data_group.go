package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func newGroupData() datasource.DataSource {
	return &remoteData[groupDataModel]{name: "group", schema: groupDataSchema, ask: askGroup}
}

// groupDataModel is data.sandbox_group.
type groupDataModel struct {
	Name           types.String `tfsdk:"name"`
	SubscriptionID types.String `tfsdk:"subscription_id"`
	ResourceGroup  types.String `tfsdk:"resource_group"`
	ID             types.String `tfsdk:"id"`
	Location       types.String `tfsdk:"location"`
	Endpoint       types.String `tfsdk:"endpoint"`
	EnvironmentID  types.String `tfsdk:"environment_id"`
	Tags           types.Map    `tfsdk:"tags"`
	IdentityType   types.String `tfsdk:"identity_type"`
	IdentityIDs    types.List   `tfsdk:"identity_ids"`
	PrincipalID    types.String `tfsdk:"principal_id"`
}

func groupDataSchema() schema.Schema {
	given := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	placed := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: description}
	}
	return schema.Schema{
		MarkdownDescription: "A sandbox group that exists, made here or elsewhere.",
		Attributes: map[string]schema.Attribute{
			"name":            schema.StringAttribute{Required: true, MarkdownDescription: "The name of the group to look for."},
			"subscription_id": placed("The subscription that it lies in. The provider's when unset."),
			"resource_group":  placed("The resource group that it lies in. The provider's when unset."),
			"id":              given("The group's resource id."),
			"location":        given("The region, as the service spells it."),
			"endpoint":        given("Where hosts reach the group's data plane."),
			"environment_id":  given("The managed environment whose network the group uses, null without one."),
			"tags":            schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Tags of the Azure resource."},
			"identity_type":   given("`SystemAssigned`, `UserAssigned` or both; null without an identity. Programs in the group's sandboxes can ask for tokens of it."),
			"identity_ids":    schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "The user-assigned identities, by resource id."},
			"principal_id":    given("The principal of the system-assigned identity, null without one."),
		},
	}
}

// askGroup reads the group and says the same of it as the resource does.
func askGroup(ctx context.Context, h *home, m *groupDataModel) error {
	fill(&m.SubscriptionID, h.subscription, true)
	fill(&m.ResourceGroup, h.resourceGroup, true)
	id := acasapi.GroupID{Subscription: m.SubscriptionID.ValueString(), ResourceGroup: m.ResourceGroup.ValueString(), Name: m.Name.ValueString()}
	if err := id.Check(); err != nil {
		return err
	}
	arm, err := h.arm()
	if err != nil {
		return err
	}
	doc, err := arm.GetGroup(ctx, id)
	if err != nil {
		return adviseAbsent(err)
	}
	h.settle(id, doc.Location)
	g := groupModel{Name: m.Name, SubscriptionID: m.SubscriptionID, ResourceGroup: m.ResourceGroup, Tags: types.MapNull(types.StringType)}
	g.take(doc)
	placeGroup(h, &g)
	kind, ids := g.identity()
	m.ID, m.Location, m.Endpoint, m.EnvironmentID = g.ID, g.Location, g.Endpoint, plainText(g.EnvironmentID.ValueString())
	m.Tags, m.PrincipalID = g.Tags, g.PrincipalID
	m.IdentityType, m.IdentityIDs = plainText(kind.ValueString()), listFrom(types.ListNull(types.StringType), wordsOf(ids))
	return nil
}

// adviseAbsent says what to look at where a group is not found.
func adviseAbsent(err error) error {
	r := sandbox.RefusalOf(err)
	if r == nil || r.Code != sandbox.CodeServiceNotFound {
		return err
	}
	f := r.Finding
	f.Remedy = "check the name, resource_group and subscription_id; a subscription that the identity may not see answers the same"
	return f.Refusal(err)
}
