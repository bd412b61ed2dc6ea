package provider

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

func manifestSchema() schema.Schema {
	s := schema.Schema{
		MarkdownDescription: "The document that hosts open: one policy and the workloads that it admits. This is the gate: every workload is judged again, " +
			"under the policy given here and the platform policy (the provider's `policy_file`), whatever policy its resource was given.\n\n" +
			"Hand `document` to hosts as bytes (`terraform output -raw`), and `digest` through the hosts' own configuration: " +
			"a host accepts a document only by a digest that it was given separately. A document holds nothing secret.\n\n" +
			"Every plan is compared with what was applied before: the policy, the platform policy, and each workload's capabilities, identities, floors, limits and egress. " +
			"A workload under a new name widens unless an earlier one of the same kind and backend could do all that it can. " +
			"A workload's kind, backend and image have no order and are bounded by the policy.",
		Attributes: map[string]schema.Attribute{
			"policy": schema.SingleNestedAttribute{
				Required:            true,
				MarkdownDescription: "The policy in force for all workloads: a whole resource (`sandbox_policy.NAME`), a local, a module's output, or a literal object.",
				Attributes:          policyFragment(),
			},
			"workloads": schema.MapNestedAttribute{
				Required: true,
				MarkdownDescription: "The workloads, by the name under which hosts attach them: `{ report = sandbox_workload.report }`, or all of a `for_each` as `sandbox_workload.NAME`. " +
					"A policy that a workload carries is left out; only the one given here counts.",
				NestedObject: schema.NestedAttributeObject{Attributes: workloadFragment()},
			},
			"group": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "The sandbox group that serves the workloads: a whole resource (`sandbox_group.NAME`), or an object. " +
					"A host opens the manifest only with a backend that its own configuration has for this group and endpoint: a manifest chooses among them and adds none. " +
					"What follows from the group's configuration is known before it is made, so that the first plan prints the digest.",
				Attributes: map[string]schema.Attribute{
					"id":       schema.StringAttribute{Optional: true, MarkdownDescription: "The group's resource id. Required."},
					"endpoint": schema.StringAttribute{Optional: true, MarkdownDescription: "Where the group is served from; left out, from wherever the host has it."},
					"location": schema.StringAttribute{Optional: true, MarkdownDescription: "The region that the group is in."},
				},
			},
			"generation": numberAttribute("A number that grows with each manifest, from 1 to 2^53-1, such as the run number of a pipeline. A running host refuses to go back to a lower one."),
			"document": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "The manifest in its canonical form, JSON of version `sandbox/v1`, byte for byte what hosts open. " +
					"Known in the first plan when everything in it is. The platform policy, if there is one, is in it, and so is which guarantees each backend gave " +
					"on which admitting its workloads rests: a host refuses a backend that gives less.",
			},
			"digest": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "SHA-256 of `document`, `sha256:` and 64 hex digits.",
			},
		},
	}
	maps.Copy(s.Attributes, guardAttributes("manifest"))
	return s
}
