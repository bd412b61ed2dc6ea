package provider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// The sorts of what is compared, as documents call them.
const (
	sortPolicy   = "policy"
	sortWorkload = "workload"
	sortManifest = "manifest"
)

// postureSide is one of the two sides that are compared. Of its posture only the
// part of its sort means anything; a single workload has the name "".
type postureSide struct {
	// sort is empty while it is not known.
	sort     string
	posture  policy.Posture
	findings []sandbox.Finding
}

// readSide reads a policy, a workload or a manifest, as an object or as the text
// of its document.
func readSide(v tftypes.Value) postureSide {
	switch {
	case !v.IsKnown():
		return postureSide{}
	case v.IsNull():
		return postureSide{findings: []sandbox.Finding{{
			Code: sandbox.CodeMissing, Found: "null", Required: "a policy, a workload or a manifest",
			Remedy: "give an object such as sandbox_policy.agents, or the text of a document",
		}}}
	case v.Type().Is(tftypes.String):
		text, _ := asText(v)
		return readDocumentSide([]byte(text))
	case has(v, "api_version") && has(v, "document"):
		return postureSide{findings: []sandbox.Finding{{
			Code: sandbox.CodeWrongType, Found: "a document that was decoded", Required: "the text of the document",
			Remedy: `give its text as it is, such as file("main.manifest.json"), without jsondecode()`,
		}}}
	case has(v, "workloads"):
		return readManifestSide(v)
	case isWorkload(v):
		in := readWorkload(v, true)
		return workloadSide(policy.Ask{Spec: in.Spec, Known: in.Known}, in.faults(policy.SpecFindings(in.Spec, in.Known)))
	default:
		in := readPolicy(v, true)
		return policySide(in.layer(), in.faults(validating))
	}
}

// has reports whether the object states an attribute, known or not.
func has(v tftypes.Value, name string) bool {
	part := attribute(v, name)
	return !part.IsKnown() || !part.IsNull()
}

func policySide(l policy.Layer, findings []sandbox.Finding) postureSide {
	return postureSide{sort: sortPolicy, posture: policy.Posture{Policy: l}, findings: findings}
}

func workloadSide(ask policy.Ask, findings []sandbox.Finding) postureSide {
	return postureSide{sort: sortWorkload, posture: policy.Posture{Workloads: map[string]policy.Ask{"": ask}}, findings: findings}
}

// readDocumentSide reads a document as strictly as a host does.
func readDocumentSide(text []byte) postureSide {
	switch sort := manifest.Sort(text); sort {
	case sortPolicy:
		p, err := manifest.ParsePolicy(text)
		return policySide(policyInput{Policy: p}.layer(), sandbox.FindingsAt(err, nil))
	case sortWorkload:
		spec, err := manifest.ParseWorkload(text)
		return workloadSide(policy.Ask{Spec: spec}, sandbox.FindingsAt(err, nil))
	case "backend":
		return postureSide{sort: sort, findings: []sandbox.Finding{{
			Code: sandbox.CodeWrongType, Found: "the facts of a backend", Required: "a document of a policy, a workload or a manifest",
			Remedy: "give the document that hosts open; facts are what a backend says of itself and permit nothing",
		}}}
	default:
		// What does not even say which sort it is, the refusal of a manifest explains.
		m, err := manifest.Parse(text)
		return postureSide{sort: sortManifest, posture: m.Posture(), findings: sandbox.FindingsAt(err, nil)}
	}
}

// readManifestSide reads a manifest that is an object: its policy and workloads,
// or a whole sandbox_manifest.
func readManifestSide(v tftypes.Value) postureSide {
	in := readManifest(v, true)
	side := postureSide{sort: sortManifest, posture: in.posture(nil), findings: in.Findings}
	side.findings = append(side.findings, under(sandbox.Path("policy"), in.Policy.faults(validating))...)
	settled := in.Policy.Known.Everything() && in.Known.Everything()
	for _, name := range sortedKeys(in.Workloads) {
		workload := readWorkload(attribute(attribute(v, "workloads"), name), true)
		faults := workload.faults(policy.SpecFindings(workload.Spec, workload.Known))
		settled = settled && workload.Known.Everything()
		side.findings = append(side.findings, under(sandbox.Path("workloads", sandbox.MapKey(name)), faults)...)
	}
	document := attribute(v, "document")
	text, known := asText(document)
	switch {
	case has(v, "document") && !document.IsKnown():
		// What is imposed on it stands in its document alone.
		side.posture.Known = side.posture.Known.Unknown(sandbox.Path("host_policy"))
	case known && strings.HasPrefix(text, "{") && !denied(side.findings):
		// Anything else was invented by a mock.
		side.sealed(in, text, settled)
	}
	return side
}

// sealed takes what is imposed from the manifest's own document, which what
// arrived must still be.
func (side *postureSide) sealed(in manifestInput, text string, settled bool) {
	m, err := manifest.Parse([]byte(text))
	if err != nil {
		side.findings = append(side.findings, under(sandbox.Path("document"), sandbox.FindingsAt(err, nil))...)
		return
	}
	side.posture.HostPolicy, side.posture.Guarantees = m.Posture().HostPolicy, m.Guarantees
	if !settled {
		return
	}
	arrived := in.document(nil)
	arrived.HostPolicy, arrived.Guarantees = m.HostPolicy, m.Guarantees
	if encoded, err := arrived.Encode(); err == nil && string(encoded) != text {
		side.findings = append(side.findings, sandbox.Finding{
			Code:     sandbox.CodeAttributesLost,
			Found:    "a manifest with digest " + abbreviate(string(manifest.DigestOf(encoded))),
			Required: "the manifest of its document, with digest " + abbreviate(string(manifest.DigestOf([]byte(text)))),
			Remedy: `type the variables it passes through "any"; where you changed it on purpose, as with merge(), ` +
				"give an object of policy and workloads alone",
		})
	}
}

// known reports whether everything on the side is known.
func (side postureSide) known() bool {
	p := side.posture
	known := side.sort != "" && p.Known.Everything() && p.Policy.Known.Everything()
	for _, ask := range p.Workloads {
		known = known && ask.Known.Everything()
	}
	return known
}
