package provider

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// policyAttributes are the attributes that people write, the same in the
// resource, in the policy attribute of other objects and in plain objects.
func policyAttributes() map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"name": textAttribute("What the policy is called in messages. It travels with the policy; Terraform does not tell a provider the address of a resource."),

		"minimum_isolation": textAttribute("The isolation floor: the weakest boundary that a backend may have, one of " + anyOf(sandbox.Isolations()) +
			", weakest first. The strongest of all floors in force holds; where nobody states one it is `" + sandbox.DefaultIsolationFloor.String() + "`."),
		"minimum_evidence": textAttribute("What must stand behind a backend's isolation and its guarantees: `probed` (a probe showed it) or `documented` (its vendor says so). " +
			"`probed` when unset. Emulated evidence never counts."),
		"minimum_isolation_scope": textAttribute("The widest sharing of one sandbox that is permitted, one of " + anyOf(sandbox.IsolationScopes()) +
			", widest first. `" + sandbox.ScopeConversation.String() + "` when unset."),
		"minimum_cleanup": textAttribute("The weakest clean-up after a call that is permitted, one of " + anyOf(sandbox.Cleanups()) + ", weakest first."),

		"denied_capabilities": textsAttribute("Capabilities that no workload may require, whatever the backend offers. Each is one of " + anyOf(sandbox.Capabilities()) + "."),
		"denied_identities":   textsAttribute("Identities that no workload's host tools may act under: " + anyOf(sandbox.Identities()) + "."),
		"maximum_identity_scope": textAttribute("How far a platform identity attached to sandboxes may be shared, one of " + anyOf(sandbox.IdentityScopes()) +
			", least first. `none` when unset."),

		"image_registries": textsAttribute("The registries that image references may name, each a host with its port if it has one, compared whole. " +
			"Unset is no opinion; an empty list permits none."),
		"image_require_digest": flagAttribute("Whether every image must be pinned by its sha256 digest. `false` when unset."),
		"image_prebuilt":       textAttribute("Whether images from a service's catalogue are permitted, one of " + anyOf(sandbox.PrebuiltRules()) + ". Permitted when unset."),
		"image_user": textAttribute("The user that an image must be known to run as, one of " + anyOf(sandbox.ImageUsers()) +
			". `any` when unset. A user that nobody knows is neither root nor non-root."),

		"files_in_limits":  limitsAttribute("Ceiling of the transfer limits into the sandbox that a workload may state."),
		"files_out_limits": limitsAttribute("Ceiling of the transfer limits out of the sandbox that a workload may state."),
	}
	maps.Copy(attributes, policyEgressAttributes())
	maps.Copy(attributes, guardAttributes("policy"))
	return attributes
}

func policyEgressAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"egress_mode": textAttribute("The widest network that a workload may ask for, one of " + anyOf(sandbox.EgressModes()) +
			", narrowest first. `closed` when no policy in force states a mode."),
		"egress_hosts": textsAttribute("Hosts that workloads may reach on port 443, with any method and path: DNS names, `*.suffix`, IP addresses or CIDR ranges. " +
			"The short form of `egress_rules`."),
		"egress_rules": rulesAttribute("What workloads may reach, by host, port, method and path. Whatever a workload asks for must lie within these rules and `egress_hosts`."),
		"egress_guarantees": textsAttribute("Guarantees that every backend must give, with evidence as `minimum_evidence` asks. Each is one of " +
			anyOf(sandbox.Guarantees()) + "."),
		"egress_match": textAttribute("How a workload's mode is compared with the backend's, one of " + anyOf(sandbox.EgressMatches()) +
			". `exact` when unset; `at_least` lets a backend confine more than asked, with a warning."),
		"missing_guarantees": textAttribute("What becomes of a workload whose backend leaves a way around its egress mode open, one of " +
			anyOf(sandbox.MissingGuaranteesRules()) + ". `warn` when unset."),
		"never_reaches": textsAttribute("Hosts, `*.suffix`, IP addresses and CIDR ranges that no rule, of this policy or of a workload, may overlap on any port. " +
			"It is proved about names and addresses as they are written, not about where an allowed host forwards to."),
	}
}

// policySchema is the schema of the resource.
func policySchema() schema.Schema {
	attributes := policyAttributes()
	attributes["digest"] = schema.StringAttribute{
		Computed: true,
		MarkdownDescription: "SHA-256 of the policy's canonical document, `sha256:` and 64 hex digits. " +
			"Known in the first plan when everything in the policy is. The order of words in a list does not change it.",
	}
	return schema.Schema{
		MarkdownDescription: "Bounds what workloads may ask for: isolation floor, denied capabilities and identities, egress from above, " +
			"transfer ceilings and image rules. Every attribute only tightens, and several policies combine to the strictest of each.\n\n" +
			"A policy is pure: it needs no provider block, no cloud and no file, and nothing exists after it is applied but its values. " +
			"Hand it to workloads and manifests whole, as `policy = sandbox_policy.NAME`. " +
			"Nothing in a policy is a secret: its hosts and rules appear in the manifest's document.",
		Attributes: attributes,
	}
}

// policyFragment are the attributes of a policy inside another object: what
// people write, and the digest that it carries when it came from a resource.
func policyFragment() map[string]schema.Attribute {
	attributes := policyAttributes()
	attributes["digest"] = textAttribute("The policy's digest, present when the whole resource was given. " +
		"When it is present the attributes must have it: otherwise something on the way dropped or changed one.")
	return attributes
}
