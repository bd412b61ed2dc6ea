package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// newCheckFunction is the function check.
func newCheckFunction() function.Function {
	return &pureFunction{name: "check", definition: checkDefinition, evaluate: evaluateCheck}
}

func checkDefinition() function.Definition {
	return function.Definition{
		Summary: "The decision about a workload, as a value",
		MarkdownDescription: "Judges a workload under a policy exactly as `sandbox_workload` does and returns the decision instead of refusing:\n\n" +
			assessedDescription() +
			"\nAn argument that cannot be read, down to a misspelt name at any level of nesting, and a policy that contradicts itself are errors and not verdicts: a test that expects `deny` must not pass because of a typo. " +
			"A deny that is certain whatever is not known yet is returned at once; otherwise what depends on unknown values is unknown. " +
			"A function sees its arguments alone: the platform policy, which the provider's configuration imposes, is not among them.",
		Parameters: []function.Parameter{
			objectParameter("policy", "The policy: a `sandbox_policy`, the result of the function `policy`, or an object with the attributes of one."),
			objectParameter("workload", "The workload: a `sandbox_workload`, or an object with the attributes of one, `backend` and, where facts were probed, `backend_facts` included. "+
				"A `policy` in it is passed over."),
		},
		Return: function.ObjectReturn{AttributeTypes: assessed()},
	}
}

// assessedDescription says what the values of an assessment are.
func assessedDescription() string {
	return "* `verdict`: `allow` or `deny`;\n" +
		"* `allowed`: whether the verdict is `allow`;\n" +
		"* `findings`: everything the decision has to say, in its fixed order, each with `verdict` (of this finding alone; `allow` is a warning), `code`, `path`, `found`, `required`, `remedy`, and `witness`, one thing that would become reachable, or null;\n" +
		"* `digest`: SHA-256 of the workload's canonical document, equal to the `digest` of a `sandbox_workload` of the same attributes; null when it has none because something in it is malformed.\n"
}

func evaluateCheck(arguments []tftypes.Value, returns tftypes.Type) answer {
	const given, workload = 0, 1
	s := assess(arguments[given], arguments[workload], nil, true, validating)
	complaints := append(about(given, s.policyFaults()), about(workload, s.workloadFaults())...)
	if len(complaints) > 0 {
		return answer{complaints: complaints}
	}
	return answer{value: s.values(attributesOf(returns)).of(returns)}
}
