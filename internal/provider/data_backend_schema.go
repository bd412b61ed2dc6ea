package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func backendSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "What a backend declares of itself, and the evidence behind it: the same declarations that workloads are judged on. " +
			"They are shipped with the provider, or were probed on a machine and are given as `facts`. Nothing is probed and nothing is looked up.\n\n" +
			"Where a backend is silent the attributes hold what its silence is read as.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Optional: true, Computed: true,
				MarkdownDescription: "The backend. Its declarations are shipped for " + shippedBackends() + "; any other name needs `facts`. " +
					"The name in `facts` when left out.",
			},
			"facts": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Declarations that were probed on a machine, as JSON text: `file(\"facts.json\")` of what `sandboxctl facts --backend NAME --format json` printed. They replace the shipped ones and must be of the backend that `name` names.",
			},
			"source":             computedText("Where the declarations come from: `shipped` or `facts`."),
			"isolation":          computedText("The rung of isolation, one of " + anyOf(sandbox.Isolations()) + ", weakest first."),
			"isolation_evidence": evidenceAttribute("What stands behind the rung. Null when nothing does."),
			"capabilities":       computedTexts("What workloads may require, each one of " + anyOf(sandbox.Capabilities()) + "."),
			"egress_modes":       computedTexts("The modes that are enforced, each one of " + anyOf(sandbox.EgressModes()) + ". None when empty: silence enforces nothing."),
			"guarantees": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The ways around an egress mode that are shut, with the evidence for each, by " + anyOf(sandbox.Guarantees()) + ".",
				NestedObject:        schema.NestedAttributeObject{Attributes: evidenceAttributes()},
			},
			"method_tokens":    computedTexts("The HTTP methods that can be told apart in rules. Null is any."),
			"files_in_limits":  limitsOutput("What transfers into a sandbox are bounded by."),
			"files_out_limits": limitsOutput("What transfers out of a sandbox are bounded by."),
			"image_sources":    computedTexts("The ways of naming an image that sandboxes are made from, each one of " + anyOf(sandbox.ImageSources()) + ". None when empty."),
			"os_families":      computedTexts("The OS families of the guests, each one of " + anyOf(sandbox.OSFamilies()) + "."),
			"isolation_scopes": computedTexts("The sharings of one sandbox that are kept apart, each one of " + anyOf(sandbox.IsolationScopes()) + "."),
			"write_authority":  computedText("With whose power files are read, written and removed in the guest, one of " + anyOf(sandbox.WriteAuthorities()) + "."),
			"attached_identity": schema.SingleNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The platform identity that the guest's traffic can use. Null when there is none.",
				Attributes: map[string]schema.Attribute{
					"scope":             computedText("How far it is shared, one of " + anyOf(sandbox.IdentityScopes()) + "."),
					"retention_seconds": schema.Int64Attribute{Computed: true, MarkdownDescription: "How long its authority outlives a call, in seconds."},
					"channels":          computedTexts("The ways in which the guest can use it, each " + anyOf(sandbox.AuthorityChannels()) + "."),
				},
			},
			"program_channels": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The ways in which whole programs are run.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"name":       computedText("What the channel is called."),
					"profiles":   computedTexts("The program profiles that it serves."),
					"host_tools": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether host tools work through it."},
					"needs":      computedTexts("The capabilities that it builds on."),
				}},
			},
			"observes_egress":     schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the backend reports what its sandboxes connected to."},
			"exclusive_admission": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether a sandbox admits one call at a time."},
		},
	}
}

func evidenceAttribute(description string) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Computed: true, MarkdownDescription: description, Attributes: evidenceAttributes()}
}

func evidenceAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"kind":      computedText("One of " + anyOf(sandbox.EvidenceKinds()) + ", weakest first."),
		"reference": computedText("Where to look: a probe's name and date, or a document's title. Null when there is none."),
	}
}

func computedTexts(description string) schema.ListAttribute {
	return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func limitsOutput(description string) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Computed: true, MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"max_bytes_per_file": schema.Int64Attribute{Computed: true, MarkdownDescription: "Bytes of the largest single file."},
			"max_total_bytes":    schema.Int64Attribute{Computed: true, MarkdownDescription: "Bytes of all files of one transfer together."},
			"max_files":          schema.Int64Attribute{Computed: true, MarkdownDescription: "How many files one transfer may have."},
		},
	}
}
