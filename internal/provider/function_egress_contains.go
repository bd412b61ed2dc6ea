package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// newEgressContainsFunction is the function egress_contains.
func newEgressContainsFunction() function.Function {
	return &pureFunction{name: "egress_contains", definition: egressContainsDefinition, evaluate: evaluateEgressContains}
}

func egressContainsDefinition() function.Definition {
	const objects = ": a `sandbox_policy`, a `sandbox_workload`, the result of the function `policy`, or an object with the attributes of one. A misspelt name in it is an error."
	return function.Definition{
		Summary: "Whether one side reaches everything that another reaches",
		MarkdownDescription: "Proves, over all hosts, addresses, ports, methods and paths, that everything which `inner` lets out `outer` lets out too, with the same comparison by which a workload is held against its policy, and returns:\n\n" +
			"* `contains`: whether it does;\n" +
			"* `witness`: where it does not, one thing that only `inner` reaches, such as `evil.example.com:443`; null otherwise.\n\n" +
			"Either side is a policy, of which the question is what a workload under it could be given, or a workload (an object with `kind`), of which the question is about its own rules. " +
			"A side that states no `egress_mode` is closed and reaches nothing. Both results are unknown where a value that is not known yet may change the answer.",
		Parameters: []function.Parameter{
			objectParameter("outer", "What should reach at least as much"+objects),
			objectParameter("inner", "What should reach no more"+objects),
		},
		Return: function.ObjectReturn{AttributeTypes: containsResult()},
	}
}

func containsResult() map[string]attr.Type {
	return map[string]attr.Type{"contains": types.BoolType, "witness": types.StringType}
}

func evaluateEgressContains(arguments []tftypes.Value, returns tftypes.Type) answer {
	const outer, inner = 0, 1
	bound, faults := readReach(arguments[outer])
	reach, problems := readReach(arguments[inner])
	if complaints := append(about(outer, faults), about(inner, problems)...); len(complaints) > 0 {
		return answer{complaints: complaints}
	}
	verdict, witness := bound.Contains(reach)
	if verdict == sandbox.Undecided {
		return answer{value: attributesOf(returns).unknown().of(returns)}
	}
	said := computed{"contains": flagValue(verdict == sandbox.Allow), "witness": textOrNull(witness)}
	return answer{value: said.of(returns)}
}

// readReach reads what a policy or a workload reaches.
func readReach(v tftypes.Value) (policy.Reach, []sandbox.Finding) {
	if isWorkload(v) {
		spec, faults := receiveWorkload(v)
		return spec.Reach(), faults
	}
	a := admit(readPolicy(v, true), nil, validating)
	return a.compiled.Reach(), a.findings
}
