package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/operate"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasegress"
)

func newSandboxesData() datasource.DataSource {
	return &remoteData[sandboxesModel]{name: "sandboxes", schema: sandboxesSchema, ask: askSandboxes}
}

// sandboxesModel is data.sandbox_sandboxes.
type sandboxesModel struct {
	Group     types.String `tfsdk:"group"`
	Labels    types.Map    `tfsdk:"labels"`
	Sandboxes types.List   `tfsdk:"sandboxes"`
}

func sandboxesSchema() schema.Schema {
	given := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return schema.Schema{
		MarkdownDescription: "The sandboxes that a group has now, with what the service says of their egress: what hosts made, and what else is there. " +
			"Times are timestamps and never ages, so that the same sandboxes are the same answer.",
		Attributes: map[string]schema.Attribute{
			"group": schema.StringAttribute{Required: true, MarkdownDescription: "The group, by resource id: `sandbox_group.NAME.id`."},
			"labels": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Labels that a sandbox must carry to be listed, all of them. All sandboxes when unset.",
			},
			"sandboxes": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The sandboxes, in the service's order.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"id":                 given("The service's id of the sandbox."),
					"state":              given("Its state, in the service's word, such as `Running`."),
					"created_at":         given("When the service made it, in RFC 3339; null where it does not say."),
					"owned":              schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether it carries the marker of this product, so that a host of it made the sandbox."},
					"labels":             schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "All labels that the sandbox carries."},
					"egress":             given("What the sandbox may reach, all that the service shows of it taken together: `closed`, `allowlist`, `unrestricted`, or `unclear` where it can be read in more than one way."),
					"egress_because":     given("Why `egress` is `unclear`; null otherwise."),
					"egress_default":     given("The policy's word on requests that no rule admits: `Deny`, or `Allow`, which is the service's own default. It is not what holds: a rule may admit everything, and a sandbox may go around the proxy."),
					"egress_inspection":  given("How far the service looks into requests: `Full`, or less; null where it does not say."),
					"egress_enforcement": given("Whether the rules hold or are only watched, in the service's word; null where it does not say."),
				}},
			},
		},
	}
}

func sandboxTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"id": types.StringType, "state": types.StringType, "created_at": types.StringType, "owned": types.BoolType,
		"labels": types.MapType{ElemType: types.StringType},
		"egress": types.StringType, "egress_because": types.StringType,
		"egress_default": types.StringType, "egress_inspection": types.StringType, "egress_enforcement": types.StringType,
	}
}

func askSandboxes(ctx context.Context, h *home, m *sandboxesModel) error {
	id, err := acasapi.ParseGroupID(m.Group.ValueString())
	if err != nil {
		return err
	}
	group, err := h.group(ctx, id)
	if err != nil {
		return adviseAbsent(err)
	}
	all := []attr.Value{}
	for doc, err := range group.Sandboxes(ctx, textsOf(m.Labels)) {
		if err != nil {
			return err
		}
		all = append(all, sandboxValue(doc))
	}
	m.Sandboxes = types.ListValueMust(types.ObjectType{AttrTypes: sandboxTypes()}, all)
	return nil
}

func sandboxValue(doc wire.Sandbox) attr.Value {
	created := types.StringNull()
	if at, ok := operate.Created(doc); ok {
		created = types.StringValue(at.Format("2006-01-02T15:04:05Z07:00"))
	}
	// The service's own default, where nothing was set.
	egress := wire.EgressPolicy{DefaultAction: wire.EgressAllow}
	if doc.EgressPolicy != nil {
		egress = *doc.EgressPolicy
	}
	mode, because := acasegress.ReadSandbox(doc).Word()
	return types.ObjectValueMust(sandboxTypes(), map[string]attr.Value{
		"id": types.StringValue(doc.ID), "state": types.StringValue(doc.State), "created_at": created,
		"owned": types.BoolValue(operate.Ours(doc.Labels)), "labels": mapFrom(types.MapNull(types.StringType), doc.Labels),
		"egress": types.StringValue(mode), "egress_because": plainText(because),
		"egress_default": plainText(egress.DefaultAction), "egress_inspection": plainText(egress.TrafficInspection),
		"egress_enforcement": plainText(egress.EnforcementMode),
	})
}
