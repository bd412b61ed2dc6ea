package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// groupSchema is the schema of sandbox_group.
func groupSchema() schema.Schema {
	placed := func(description string) schema.StringAttribute {
		return schema.StringAttribute{
			Optional: true, Computed: true, MarkdownDescription: description,
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		}
	}
	return schema.Schema{
		MarkdownDescription: "A sandbox group of Azure Container Apps Sandboxes: where sandboxes of a team live, with their images, volumes and secrets. " +
			"**Deleting or replacing it deletes all of these**, also those that hosts and other configurations made; what this configuration manages is made anew in the successor. " +
			"A plan warns of it, except where `-replace` asks for it, and `lifecycle { prevent_destroy = true }` keeps a plan from doing so.\n\n" +
			"The id and the endpoint follow from the configuration, so the first plan knows them. " +
			"The group lives where the provider block says: `acas` is Azure, `embedded` a local file. " +
			"Under `embedded` a group that says nothing else lies in subscription `" + embeddedSubscription + "`, resource group `" + embeddedResourceGroup + "` and location `" + embeddedLocation + "`; under `acas` all three have to be stated, here, in the provider block or in its variables. " +
			"What the provider block says of the place, `resource_group` and `location` among it, is read when a group is made: a later change of the block moves nothing.",
		Attributes: map[string]schema.Attribute{
			"name":            byARM(fixedRequired("The group's name: 1 to 32 letters, digits and hyphens, not starting with a hyphen. Another name means another group.")),
			"subscription_id": placed("The subscription that the group lies in. The provider's when unset. Another one means another group."),
			"resource_group":  placed("The resource group that the group lies in. The provider's when unset. Another one means another group."),
			"location":        placed("The region, such as `westeurope`. The provider's when unset. A group cannot move: another region means another group."),
			"environment_id":  textAttribute("The managed environment whose network the group uses, by resource id. It can be given to a group that has none; afterwards it neither changes nor goes, short of another group."),
			"tags": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Tags of the Azure resource. Tags that somebody else adds show as a change. Keys that begin with `" + sandbox.ReservedLabelPrefix + "` are the product's own.",
			},
			"id":           givenText("The group's resource id, `/subscriptions/…/resourceGroups/…/providers/Microsoft.App/sandboxGroups/NAME`. Known in the first plan."),
			"endpoint":     givenText("Where hosts reach the group's data plane. Known in the first plan. Under `embedded` it is a name that leads nowhere."),
			"principal_id": schema.StringAttribute{Computed: true, MarkdownDescription: "The principal of the system-assigned identity, null without one."},
			"tenant_id":    schema.StringAttribute{Computed: true, MarkdownDescription: "The tenant of the system-assigned identity, null without one."},
		},
		Blocks: map[string]schema.Block{
			"identity": schema.SingleNestedBlock{
				MarkdownDescription: "The identities that the group has. **Programs in the group's sandboxes can ask for tokens of them.** " +
					"A plan warns, and is refused where the imposed policy's `maximum_identity_scope` is `none`.",
				Attributes: map[string]schema.Attribute{
					"type": textAttribute("`" + wire.IdentitySystem + "`, `" + wire.IdentityUser + "` or `" + wire.IdentitySystemUser + "`."),
					"identity_ids": schema.ListAttribute{
						Optional: true, ElementType: types.StringType,
						MarkdownDescription: "The user-assigned identities, by resource id. They need a `type` with `" + wire.IdentityUser + "`.",
					},
				},
			},
		},
	}
}
