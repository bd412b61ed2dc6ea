package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// diskImageSchema is the schema of sandbox_disk_image.
func diskImageSchema() schema.Schema {
	fixedList := func(description string) schema.ListAttribute {
		return schema.ListAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: description,
			PlanModifiers: []planmodifier.List{listplanmodifier.RequiresReplace()},
		}
	}
	labels := labelsAttribute(" Other labels mean another image.")
	labels.PlanModifiers = []planmodifier.Map{mapplanmodifier.RequiresReplace()}
	token := fixedText("The password of a private registry. **It is stored in the state**; `registry_token_wo` is not.")
	token.Sensitive = true
	return schema.Schema{
		MarkdownDescription: "A disk image of a group, made from an image of a registry: what sandboxes start from.\n\n" +
			"There is at most one image of a reference in a group: the service's other clients refuse a reference with two, or take the first they find. " +
			"So an image that exists already is not made a second time, and one that is replaced is deleted before its successor is made; " +
			"`create_before_destroy` is refused by the service's own list while the reference stays the same.\n\n" +
			"An image that the service calls failed is taken for gone, and the next apply makes another one. That an image has expired does not show here: " +
			"the service says so only when a sandbox is started from it.\n\n" +
			"Hand it to workloads whole, as `image = sandbox_disk_image.NAME`: its reference, digest and user travel along.",
		Attributes: map[string]schema.Attribute{
			"group": groupAttribute(),
			"image": schema.SingleNestedAttribute{
				Required: true,
				MarkdownDescription: "What it is made from: `data.sandbox_image.NAME`, or an object with `reference` and whatever else is known. " +
					"Another reference or digest means another image.",
				Attributes: map[string]schema.Attribute{
					"reference": textAttribute("The reference, registry and all, such as `registry.example.com/team/tool:1.4`."),
					"digest":    textAttribute("The digest that the reference must have, `sha256:` and 64 hex digits. The service is asked for it and for nothing else."),
					"user":      textAttribute("The user that the image's programs run as, as the registry tells it. It is handed on."),
					"platform":  textAttribute("The platform, such as `linux/amd64`, the only one that the service runs."),
					"prebuilt":  textAttribute("Not for this resource: the catalogue's images are used by name."),
				},
			},
			"entrypoint": fixedList("The entry point, in place of the image's own."),
			"command":    fixedList("The command, in place of the image's own."),
			"labels":     labels,

			"registry_username": fixedText("The user of a private registry. With it stands `registry_token_wo` or `registry_token`, without which no image is made."),
			"registry_token":    token,
			"registry_token_wo": schema.StringAttribute{
				Optional: true, WriteOnly: true, Sensitive: true,
				MarkdownDescription: "The password of a private registry, used for the import and kept nowhere. It needs Terraform 1.11 or OpenTofu 1.11.",
			},
			"managed_identity": byARM(fixedText("The identity of the group that opens the registry: its resource id, or `system`.")),

			"id":       schema.StringAttribute{Computed: true, MarkdownDescription: "The object's whole id, by which it is imported: `GROUP_ID/diskimages/IMAGE_ID`."},
			"image_id": schema.StringAttribute{Computed: true, MarkdownDescription: "The service's own id of the image."},

			"reference": schema.StringAttribute{Computed: true, MarkdownDescription: "The reference that it was made from, pinned by digest where one is known. Known in the plan."},
			"digest":    schema.StringAttribute{Computed: true, MarkdownDescription: "The digest, where one is known. Known in the plan."},
			"user":      schema.StringAttribute{Computed: true, MarkdownDescription: "The user that its programs run as, where `image` says it. Known in the plan."},
			"platform":  schema.StringAttribute{Computed: true, MarkdownDescription: "The platform, where `image` says it. Known in the plan."},
		},
	}
}
