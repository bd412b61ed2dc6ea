package provider

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// policyInput is a policy as it was received from Terraform: a resource's own
// configuration, an object in another resource's policy attribute, or a
// function's argument.
type policyInput struct {
	Policy sandbox.Policy
	// Known marks what is not known yet.
	Known sandbox.Known
	// Findings say what could not be read. Their paths count from the policy.
	Findings []sandbox.Finding

	seal  seal
	guard guard
}

// readPolicy reads a policy from any object or map. strict refuses names that a
// policy does not have.
func readPolicy(v tftypes.Value, strict bool) policyInput {
	r := &reading{strict: strict}
	in := policyInput{}
	if o, ok := r.open(v, nil); ok {
		in.Policy = policyOf(o)
		in.seal = readSeal(o)
		in.guard = readGuard(o)
		o.ignore("document") // what the function policy adds
		o.done()
	} else if v.IsKnown() && v.IsNull() {
		r.reject(nil, sandbox.Finding{
			Code: sandbox.CodeMissing, Found: "no policy", Required: "a policy",
			Remedy: "give a whole policy, such as policy = sandbox_policy.agents",
		})
	}
	in.Known, in.Findings = r.known, append(r.findings, in.guard.findings...)
	return in
}

func policyOf(o *object) sandbox.Policy {
	p := sandbox.Policy{
		Name:                  o.text("name"),
		MinimumIsolation:      readWord[sandbox.Isolation](o, "minimum_isolation"),
		MinimumEvidence:       readWord[sandbox.EvidenceKind](o, "minimum_evidence"),
		MinimumIsolationScope: readWord[sandbox.IsolationScope](o, "minimum_isolation_scope"),
		MinimumCleanup:        readWord[sandbox.Cleanup](o, "minimum_cleanup"),
		MaximumIdentityScope:  readWord[sandbox.IdentityScope](o, "maximum_identity_scope"),
		Egress:                readEgress(o),
		EgressMatch:           readWord[sandbox.EgressMatch](o, "egress_match"),
		MissingGuarantees:     readWord[sandbox.MissingGuarantees](o, "missing_guarantees"),
		NeverReaches:          o.texts("never_reaches"),
		FilesIn:               readLimits(o, "files_in_limits"),
		FilesOut:              readLimits(o, "files_out_limits"),
		Images: sandbox.ImagePolicy{
			Registries:    o.texts("image_registries"),
			RequireDigest: o.flag("image_require_digest", false),
			Prebuilt:      readWord[sandbox.PrebuiltRule](o, "image_prebuilt"),
			User:          readWord[sandbox.ImageUser](o, "image_user"),
		},
	}
	p.DeniedCapabilities, _ = readWords[sandbox.Capability](o, "denied_capabilities")
	p.DeniedIdentities, _ = readWords[sandbox.Identity](o, "denied_identities")
	return p
}

// layer is the policy as one that is in force, named as people know it.
func (in policyInput) layer() policy.Layer {
	return policy.Layer{Source: manifest.PolicySource(in.Policy), Policy: in.Policy, Known: in.Known}
}
