package provider

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// manifestInput is a manifest as it was received from Terraform.
type manifestInput struct {
	Policy policyInput
	// Workloads are by name. One that is null or not known yet is marked in Known.
	Workloads map[string]workloadInput
	// Generation is 0 when none is stated.
	Generation       int64
	GenerationStated bool
	// Known and Findings are about the manifest's own attributes, not about what is
	// inside a policy or a workload.
	Known    sandbox.Known
	Findings []sandbox.Finding

	guard guard
}

// readManifest reads a manifest from any object. strict refuses names that the
// manifest and what is in it do not have.
func readManifest(v tftypes.Value, strict bool) manifestInput {
	r := &reading{strict: strict}
	in := manifestInput{Workloads: map[string]workloadInput{}}
	if o, ok := r.open(v, nil); ok {
		o.ignore("policy", "document", "digest")
		in.Policy = readPolicy(attribute(v, "policy"), strict)
		in.Generation, in.GenerationStated = o.whole("generation")
		o.each("workloads", func(key string, workload tftypes.Value, path sandbox.FieldPath) {
			if workload.IsKnown() && workload.IsNull() {
				r.null(path, "a workload")
				return
			}
			in.Workloads[key] = readWorkload(workload, strict)
		})
		in.guard = readGuard(o)
		o.done()
	}
	in.Known, in.Findings = r.known, append(r.findings, in.guard.findings...)
	return in
}
