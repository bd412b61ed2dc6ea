package provider

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// manifestInput is a manifest as it was received from Terraform.
type manifestInput struct {
	Policy policyInput
	// Workloads are by name. One that is null or not known yet is marked in Known.
	Workloads map[string]workloadInput
	// Generation is 0 when none is stated.
	Generation       int64
	GenerationStated bool
	// Group serves the workloads; nil where none is stated.
	Group *manifest.Group
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
		if group, ok := o.child("group"); ok {
			in.Group = readManifestGroup(group)
		}
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

// readManifestGroup reads which group serves the workloads. What is no group's id or
// no endpoint is refused here: a host could never be configured for it.
func readManifestGroup(o *object) *manifest.Group {
	g := &manifest.Group{
		ID:       o.demanded("id", "the group's resource id, as sandbox_group has it"),
		Endpoint: o.text("endpoint"), Location: o.text("location"),
	}
	refuse := func(name string, err error) {
		if r := sandbox.RefusalOf(err); r != nil {
			f := r.Finding
			f.Subject, f.Path = "", o.path.Append(sandbox.Attr(name))
			if f.Remedy == "" {
				f.Remedy = "give the whole sandbox_group"
			}
			o.reading.reject(f.Path, f)
		}
	}
	if g.ID != "" {
		_, err := acasapi.ParseGroupID(g.ID)
		refuse("id", err)
	}
	if g.Endpoint != "" {
		refuse("endpoint", acasapi.CheckEndpoint(g.Endpoint))
	}
	return g
}
