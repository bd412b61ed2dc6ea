package provider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// newWorkloadResource is sandbox_workload.
func newWorkloadResource() resource.Resource {
	return &pureResource{name: "workload", schema: workloadSchema, evaluate: evaluateWorkload}
}

// evaluateWorkload judges a workload under the policy that it was given and what
// is imposed. It is early feedback: the manifest judges again.
func evaluateWorkload(object tftypes.Value, g *platformPolicy, p phase) outcome {
	a := admit(readPolicy(attribute(object, "policy"), false), g.layers(), p)
	in := readWorkload(object, false)
	// Its own digest is an output here, not something that it arrived with.
	in.seal = ""
	j := a.judge(in, p)
	out := outcome{
		findings: append(under(sandbox.Path("policy"), a.findings), j.Findings...),
		computed: computed{"digest": unknownText(), "verdict": unknownText(), "findings": unknownTexts()},
	}
	if !in.Known.Everything() || denied(out.findings) {
		return out
	}
	// What no document can carry is refused whatever is imposed.
	document, err := in.encode()
	if err != nil {
		out.findings = append(out.findings, sandbox.FindingsAt(err, nil)...)
		return out
	}
	if !j.settled || j.Verdict != sandbox.Allow {
		return out
	}
	digest := string(manifest.DigestOf(document))
	out.about = strings.TrimPrefix(digest, "sha256:")[:8]
	out.computed = computed{
		"digest":   textValue(digest),
		"verdict":  textValue(j.Verdict.String()),
		"findings": textsValue(lines(j.Findings)),
	}
	return out
}

// attribute is one attribute of an object, null when there is none and unknown
// when the object is.
func attribute(object tftypes.Value, name string) tftypes.Value {
	attrs := map[string]tftypes.Value{}
	if !object.IsKnown() {
		return tftypes.NewValue(tftypes.DynamicPseudoType, tftypes.UnknownValue)
	}
	if err := object.As(&attrs); err != nil {
		return tftypes.NewValue(tftypes.DynamicPseudoType, nil)
	}
	if v, ok := attrs[name]; ok {
		return v
	}
	return tftypes.NewValue(tftypes.DynamicPseudoType, nil)
}

// lines renders findings for people, one line each.
func lines(findings []sandbox.Finding) []string {
	texts := make([]string, len(findings))
	for i, f := range findings {
		texts[i] = f.Locator() + ": " + oneLine(f.Found)
	}
	return texts
}
