package provider

import (
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// newManifestResource is sandbox_manifest.
func newManifestResource() resource.Resource {
	return &pureResource{name: "manifest", schema: manifestSchema, evaluate: evaluateManifest, compare: compareManifest}
}

// evaluateManifest is the gate: it judges every workload under the manifest's
// own policy and what is imposed, whatever the workload was judged under before.
func evaluateManifest(object tftypes.Value, g *platformPolicy, p phase) outcome {
	in := readManifest(object, false)
	out := outcome{computed: computed{"document": unknownText(), "digest": unknownText()}}
	findings, settled := in.judge(g, p)
	out.findings = findings
	if !in.whole() || denied(findings) {
		return out
	}
	// What no document can carry is refused whatever is imposed.
	document, err := in.document(g).Encode()
	if err != nil {
		out.findings = append(out.findings, sandbox.FindingsAt(err, nil)...)
		return out
	}
	if !settled || sandbox.Decide(findings).Verdict != sandbox.Allow {
		return out
	}
	out.computed["document"] = textValue(string(document))
	out.computed["digest"] = textValue(string(manifest.DigestOf(document)))
	return out
}

// whole reports whether everything in the manifest is known.
func (in manifestInput) whole() bool { return in.Known.Everything() && in.admissionKnown() }

// admissionKnown reports whether everything is known by which workloads are
// admitted.
func (in manifestInput) admissionKnown() bool {
	for _, workload := range in.Workloads {
		if !workload.Known.Everything() {
			return false
		}
	}
	return in.Known.Whole(sandbox.Path("workloads")) && in.Policy.Known.Everything()
}

// judge decides every workload. A workload that came from a resource has warned
// there, so its warnings are not repeated.
func (in manifestInput) judge(g *platformPolicy, p phase) (findings []sandbox.Finding, settled bool) {
	a := admit(in.Policy, g.layers(), p)
	findings = append(findings, in.Findings...)
	findings = append(findings, in.generationFindings()...)
	findings = append(findings, under(sandbox.Path("policy"), a.findings)...)
	settled = a.settled && in.Known.Everything()
	for _, name := range sortedKeys(in.Workloads) {
		workload := in.Workloads[name]
		j := a.judge(workload, p)
		settled = settled && j.settled
		at := sandbox.Path("workloads", sandbox.MapKey(name))
		for _, f := range under(at, j.Findings) {
			if f.Verdict == sandbox.Allow && workload.seal != "" {
				continue
			}
			f.Subject = "workload " + sandbox.Echo(name)
			findings = append(findings, f)
		}
	}
	return findings, settled
}

func (in manifestInput) generationFindings() []sandbox.Finding {
	if !in.GenerationStated || !in.Known.Has(sandbox.Path("generation")) ||
		(in.Generation >= 1 && in.Generation <= sandbox.MaxDocumentInteger) {
		return nil
	}
	return []sandbox.Finding{{
		Code: sandbox.CodeOutOfRange, Path: sandbox.Path("generation"),
		Found:    strconv.FormatInt(in.Generation, 10),
		Required: "a number from 1 to " + strconv.FormatInt(sandbox.MaxDocumentInteger, 10),
		Remedy:   "write a number that grows with each manifest, such as the run number of the pipeline",
	}}
}

// document is the manifest that hosts open.
func (in manifestInput) document(g *platformPolicy) manifest.Manifest {
	workloads := make(map[string]sandbox.Spec, len(in.Workloads))
	for name, workload := range in.Workloads {
		workloads[name] = workload.Spec
	}
	return manifest.Manifest{
		Generation: in.Generation,
		Policy:     in.Policy.Policy,
		HostPolicy: g.effective(),
		Group:      in.Group,
		Guarantees: in.relied(g),
		Workloads:  workloads,
	}
}

// relied is what each backend must still give when a host opens the manifest: that
// on which its workloads were admitted here. What is not known yet relies on
// nothing.
func (in manifestInput) relied(g *platformPolicy) map[string]sandbox.GuaranteeSet {
	layers := append(slices.Clip(g.layers()), in.Policy.layer())
	relied := make(map[string]sandbox.GuaranteeSet)
	for _, workload := range in.Workloads {
		backend, open, problems := backendOf(workload)
		if open || len(problems) > 0 || !workload.Known.Everything() {
			continue
		}
		name := workload.Spec.Backend
		on := policy.Relied(layers, policy.Ask{Spec: workload.Spec}, backend.Declarations())
		if all := relied[name].Union(on); !all.Empty() {
			relied[name] = all
		}
	}
	return relied
}
