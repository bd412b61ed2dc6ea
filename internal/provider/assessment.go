package provider

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// assessment is a workload judged as its resource would be, with the verdict as
// data: the answer of the function check and of the data source.
type assessment struct {
	admission admission
	workload  workloadInput
	judgement judgement
}

// assess judges a workload under a policy and what is imposed. strict refuses
// names that either does not have.
func assess(given, workload tftypes.Value, imposed []policy.Layer, strict bool, p phase) assessment {
	s := assessment{
		admission: admit(readPolicy(given, strict), imposed, p),
		workload:  readWorkload(workload, strict),
	}
	s.judgement = s.admission.judge(s.workload, p)
	if s.judgement.settled && s.judgement.Verdict == sandbox.Allow {
		// What no document can carry is refused, as the resource does.
		_, err := s.workload.encode()
		s.judgement.Decision = sandbox.Decide(append(s.judgement.Findings, sandbox.FindingsAt(err, nil)...))
	}
	return s
}

// policyFaults are the findings about the policy. Those that deny say why it is
// none, and nothing is decided under it.
func (s assessment) policyFaults() []sandbox.Finding {
	return under(sandbox.Path("policy"), s.admission.findings)
}

// workloadFaults say why the workload cannot be read, what the resource requires
// and is not stated, or that it is not what its maker handed over. An answer
// about another workload than the one that was meant would pass for a decision.
func (s assessment) workloadFaults() []sandbox.Finding {
	faults := slices.Clip(s.workload.Findings)
	for _, required := range []struct{ name, text string }{
		{"kind", s.workload.Spec.Kind}, {"backend", s.workload.Spec.Backend},
	} {
		if at := sandbox.Path(required.name); required.text == "" && s.workload.Known.Has(at) {
			faults = append(faults, sandbox.Finding{
				Code: sandbox.CodeMissing, Path: at, Found: "no " + required.name, Required: "a " + required.name,
				Remedy: "state it, as in sandbox_workload",
			})
		}
	}
	if s.workload.Spec.Backend != "" {
		_, _, problems := backendOf(s.workload)
		faults = append(faults, problems...)
	}
	for _, f := range s.judgement.Findings {
		if f.Code == sandbox.CodeAttributesLost {
			faults = append(faults, f)
		}
	}
	return faults
}

// assessed are the values of an assessment by attribute.
func assessed() map[string]attr.Type {
	return map[string]attr.Type{
		"verdict":  types.StringType,
		"allowed":  types.BoolType,
		"digest":   types.StringType,
		"findings": types.ListType{ElemType: findingObject()},
	}
}

// values are the answer, unknown where something that is not known yet may still
// change it. A deny that is certain is said at once; further findings may join it.
func (s assessment) values(types computedTypes) computed {
	c := computed{
		"verdict": unknownText(), "allowed": unknownFlag(), "digest": s.digest(),
		"findings": tftypes.NewValue(types["findings"], tftypes.UnknownValue),
	}
	if s.judgement.settled || s.judgement.Verdict == sandbox.Deny {
		c["verdict"] = textValue(s.judgement.Verdict.String())
		c["allowed"] = flagValue(s.judgement.Verdict == sandbox.Allow)
	}
	if s.judgement.settled {
		c["findings"] = findingsValue(types["findings"], append(s.policyFaults(), s.judgement.Findings...))
	}
	return c
}

// digest is the workload's, null when the workload has no document.
func (s assessment) digest() tftypes.Value {
	if !s.workload.Known.Everything() {
		return unknownText()
	}
	document, err := s.workload.encode()
	if err != nil {
		return tftypes.NewValue(tftypes.String, nil)
	}
	return textValue(string(manifest.DigestOf(document)))
}

// findingObject is one finding as data.
func findingObject() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"verdict": types.StringType, "code": types.StringType, "path": types.StringType,
		"found": types.StringType, "required": types.StringType, "witness": types.StringType, "remedy": types.StringType,
	}}
}

func findingsValue(typ tftypes.Type, findings []sandbox.Finding) tftypes.Value {
	elements := make([]tftypes.Value, len(findings))
	for i, f := range findings {
		elements[i] = tftypes.NewValue(elementType(typ), map[string]tftypes.Value{
			"verdict": textValue(f.Verdict.String()), "code": textValue(string(f.Code)), "path": textValue(f.Path.String()),
			"found": textValue(f.Found), "required": textValue(f.Required), "remedy": textValue(f.Remedy),
			"witness": textOrNull(f.Witness),
		})
	}
	return tftypes.NewValue(typ, elements)
}
