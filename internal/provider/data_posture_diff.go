package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// newPostureDiffData is the data source sandbox_posture_diff.
func newPostureDiffData() datasource.DataSource {
	return &pureData{name: "posture_diff", schema: postureDiffSchema, evaluate: evaluatePostureDiffData}
}

func postureDiffSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Compares an earlier policy, workload or manifest with a later one exactly as `on_widening` compares a plan with its state, and returns the difference instead of refusing it. " +
			"It never fails a plan because something widened: `check` blocks and preconditions decide what that means.\n\n" +
			postureSidesDescription() + "\n\n" +
			"The difference is known at plan when both sides are: literals, locals, variables, files and results of functions. " +
			"Terraform reads a data source that depends on a resource with planned changes during apply; the function `posture_diff` has no such limit.",
		Attributes: map[string]schema.Attribute{
			"before": schema.DynamicAttribute{
				Required:            true,
				MarkdownDescription: "The earlier side, such as `file(\"main.manifest.json\")` from a branch that is trusted.",
			},
			"after": schema.DynamicAttribute{
				Required:            true,
				MarkdownDescription: "The later side, of the same sort, such as `sandbox_manifest.hosts`.",
			},
			"widened":  schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether anything became possible."},
			"narrowed": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether anything became impossible."},
			"changes": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "Everything that differs, in a fixed order.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"subject": computedText("What changed: the policy, the policy that a runner imposed, a workload, or the manifest itself."),
					"axis":    computedText("The attribute that differs, or `egress` for all of it together."),
					"path":    computedText("Where it stands in the later side."),
					"change":  computedText("How it moved: " + changeWords() + "."),
					"before":  computedText("What the earlier side says there."),
					"after":   computedText("What the later side says there."),
					"witness": computedText("One thing that became possible. Null where nothing did, or nothing smaller than the change itself can be named."),
				}},
			},
		},
	}
}

func evaluatePostureDiffData(config tftypes.Value, _ *platformPolicy, _ phase) (computed, diag.Diagnostics) {
	d := diffPostures(attribute(config, "before"), attribute(config, "after"))
	diags := refusals(under(sandbox.Path("before"), d.before.findings))
	diags.Append(refusals(under(sandbox.Path("after"), d.after.findings))...)
	return d.values(attributesOf(config.Type())), diags
}
