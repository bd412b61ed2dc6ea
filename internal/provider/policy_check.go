package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// newPolicyResource is sandbox_policy.
func newPolicyResource() resource.Resource {
	return &pureResource{name: "policy", schema: policySchema, evaluate: evaluatePolicy, compare: comparePolicy}
}

// evaluatePolicy judges a policy by itself: malformed values and contradictions.
// What is imposed does not bound it; workloads are judged under both.
func evaluatePolicy(object tftypes.Value, _ *platformPolicy, p phase) outcome {
	in := readPolicy(object, false)
	// Its own digest is an output here, not something that it arrived with.
	in.seal = ""
	faults := in.faults(p)
	out := outcome{findings: faults, computed: computed{"digest": unknownText()}, about: in.layer().Source}
	if !in.Known.Everything() || denied(faults) {
		return out
	}
	document, err := in.encode()
	if err != nil {
		out.findings = append(out.findings, sandbox.FindingsAt(err, nil)...)
		return out
	}
	out.computed["digest"] = textValue(string(manifest.DigestOf(document)))
	return out
}
