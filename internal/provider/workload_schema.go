package provider

import (
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// workloadAttributes are the attributes that people write, the same in the
// resource, in the workloads of a manifest and in plain objects.
func workloadAttributes() map[string]schema.Attribute {
	limits := sandbox.DefaultTransferLimits().String()
	attributes := map[string]schema.Attribute{
		"kind": textAttribute("What kind of workload it is, such as `codeact`: lower-case letters, digits, `-` and `_`, at most 63. The host that runs it serves kinds by this name."),
		"image": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: "What sandboxes are made from: a catalogue name or a registry reference, not both. Unset leaves it to the backend. " +
				"Data sources and resources that know an image have these attributes and can be given whole.",
			Attributes: map[string]schema.Attribute{
				"prebuilt":  textAttribute("A name of the service's catalogue, such as `python-3.13`."),
				"reference": textAttribute("A registry reference with its host, such as `registry.example.com/agents/python:3.13`."),
				"digest":    textAttribute("The image's digest, `sha256:` and 64 lower-case hex digits."),
				"user":      textAttribute("The user that the image is configured to run as, in the form of an image configuration. Unset means that nobody knows, not root."),
				"platform":  textAttribute("Operating system and architecture, such as `linux/amd64`."),
			},
		},
		"requires": textsAttribute("Capabilities that the workload needs of its backend, each one of " + anyOf(sandbox.Capabilities()) +
			". `" + strings.Join(sandbox.DefaultCapabilities().Strings(), "` and `") + "` when unset; an empty list needs nothing. The `egress_…` ones follow from the rules and need not be listed."),
		"minimum_isolation": textAttribute("The workload's own isolation floor, one of " + anyOf(sandbox.Isolations()) + ". It can raise the policy's and never lower it."),
		"isolation_scope": textAttribute("The widest sharing of one sandbox that the workload accepts, one of " + anyOf(sandbox.IsolationScopes()) +
			". `" + sandbox.ScopeConversation.String() + "` when unset."),
		"minimum_cleanup": textAttribute("The weakest clean-up after a call that the workload accepts, one of " + anyOf(sandbox.Cleanups()) + ", weakest first."),
		"os_family":       textAttribute("The path grammar and argument quoting that the workload was written for, one of " + anyOf(sandbox.OSFamilies()) + ". Any when unset."),
		"work_dir":        textAttribute("Absolute directory inside the guest in which the program works. `" + sandbox.DefaultWorkDir + "` when unset."),
		"labels": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Labels of every sandbox made for the workload: keys of letters, digits, `.`, `-` and `_`, at most 63, and values of at most 256 bytes.",
		},
		"files_in_limits":  limitsAttribute("Bounds of transfers into the sandbox: " + limits + " when unset."),
		"files_out_limits": limitsAttribute("Bounds of transfers out of the sandbox: " + limits + " when unset."),
		"identities":       textsAttribute("The identities that the workload's host tools act under: " + anyOf(sandbox.Identities()) + "."),
		"maximum_identity_scope": textAttribute("How far an attached platform identity may be shared, one of " + anyOf(sandbox.IdentityScopes()) +
			". Stated exactly when `attached_identity` is required."),
		"identity_retention_seconds": numberAttribute("How long an attached identity's authority may outlive a call, in seconds. Stated exactly when `attached_identity` is required."),
		"program_profile":            textAttribute("The profile of the program channel that the workload needs. None when unset."),
	}
	maps.Copy(attributes, workloadEgressAttributes())
	maps.Copy(attributes, workloadOutputAttributes())
	maps.Copy(attributes, workloadBackendAttributes())
	return attributes
}

func workloadEgressAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"egress_mode": textAttribute("How far the sandbox's network reaches, one of " + anyOf(sandbox.EgressModes()) +
			". `closed` when unset. The backend must enforce exactly this mode; none stands in for another."),
		"egress_hosts": textsAttribute("Hosts to reach on port 443, with any method and path: DNS names, `*.suffix`, IP addresses or CIDR ranges. " +
			"Only under `egress_mode = \"allowlist\"`. The short form of `egress_rules`."),
		"egress_rules":      rulesAttribute("What to reach, by host, port, method and path. Only under `egress_mode = \"allowlist\"`."),
		"egress_guarantees": textsAttribute("Guarantees that the backend must give for this workload, each one of " + anyOf(sandbox.Guarantees()) + "."),
	}
}

func workloadOutputAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"outputs": schema.MapNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Files that are collected after a call, by a name for messages. They need `files_out` in `requires`.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"path":       textAttribute("Where the program writes the file: one literal path below the work directory, never a pattern."),
				"name":       textAttribute("The name under which it lands. `path` when unset."),
				"media_type": textAttribute("The media type that the file is declared to have, such as `image/png`. It is never sniffed."),
				"required":   flagAttribute("Whether a call fails when the file was not written. `true` when unset."),
				"disposition": textAttribute("What happens to the file, one of " + anyOf(sandbox.Dispositions()) +
					": `land` gives it to the host's sink, `consume` to the workload's kind. `land` when unset."),
			}},
		},
		"outputs_named_at_call_time": flagAttribute("Whether a call may name further outputs. `false` when unset."),
	}
}

// shippedBackends lists the backends whose declarations are shipped, for a
// description.
func shippedBackends() string {
	names := make([]string, 0, len(facts.Names()))
	for _, name := range facts.Names() {
		names = append(names, "`"+name+"` ("+facts.Summary(name)+")")
	}
	return strings.Join(names, ", ")
}

func workloadBackendAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"backend": textAttribute("The backend that must serve the workload. Its declarations are shipped for " + shippedBackends() +
			"; any other name needs `backend_facts`."),
		"backend_facts": textAttribute("Declarations that were probed on the machine that will run the workload, as JSON text: `file(\"facts.json\")` of what `sandboxctl facts --backend NAME --format json` printed. " +
			"They replace the shipped ones, and must be of the backend that `backend` names."),
	}
}

// workloadSchema is the schema of the resource.
func workloadSchema() schema.Schema {
	attributes := workloadAttributes()
	attributes["kind"] = required(attributes["kind"])
	attributes["backend"] = required(attributes["backend"])
	attributes["policy"] = schema.SingleNestedAttribute{
		Required: true,
		MarkdownDescription: "The policy that the workload is judged under: a whole resource (`sandbox_policy.NAME`), a local, a module's output, or a literal object. " +
			"The platform policy (the provider's `policy_file`), if there is one, holds as well. The manifest judges the workload again under its own policy.",
		Attributes: policyFragment(),
	}
	attributes["digest"] = schema.StringAttribute{
		Computed:            true,
		MarkdownDescription: "SHA-256 of the workload's canonical document, without its policy. Known when the workload is decided.",
	}
	attributes["verdict"] = schema.StringAttribute{
		Computed:            true,
		MarkdownDescription: "`allow`. A workload that is denied is refused with errors; one that cannot be decided yet has no verdict until it can.",
	}
	attributes["findings"] = schema.ListAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "Warnings of the decision, in its fixed order, each as `CODE at PATH: what was found`. Empty when there are none.",
	}
	return schema.Schema{
		MarkdownDescription: "What one kind of workload asks of a sandbox, judged at plan under its policy and on its backend: isolation, capabilities, egress, images, limits. " +
			"Each refusal names the attribute, what was found, what is required and the edit to make.\n\n" +
			"A workload is pure: it needs no provider block and no cloud. What is written literally is judged in `terraform validate` already, as far as no policy that a runner may impose could change the answer. " +
			"A value that is not known yet leaves the decision open until it is; a refusal that is certain anyway comes at once.",
		Attributes: attributes,
	}
}

// workloadFragment are the attributes of a workload inside a manifest.
func workloadFragment() map[string]schema.Attribute {
	attributes := workloadAttributes()
	attributes["digest"] = textAttribute("The workload's digest, present when the whole resource was given. When it is present the attributes must have it.")
	return attributes
}

// required turns an optional text attribute into one that a resource must state.
func required(a schema.Attribute) schema.Attribute {
	text, ok := a.(schema.StringAttribute)
	if ok {
		text.Optional, text.Required = false, true
		return text
	}
	return a
}
