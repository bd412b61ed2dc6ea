package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// newPolicyFunction is the function policy.
func newPolicyFunction() function.Function {
	return &pureFunction{name: "policy", definition: policyDefinition, evaluate: evaluatePolicyFunction}
}

func policyDefinition() function.Definition {
	return function.Definition{
		Summary: "A policy without a resource, every name in it checked",
		MarkdownDescription: "Checks an object as `sandbox_policy` checks its configuration and returns it with every attribute of a policy, null where none was stated, and:\n\n" +
			"* `digest`: SHA-256 of the policy's canonical document, equal to the `digest` of a `sandbox_policy` of the same attributes;\n" +
			"* `document`: the canonical document itself, the bytes that a runner imposes as a policy file.\n\n" +
			"Where Terraform drops a name that an attribute's type does not have without a word, this function refuses it, at every level of nesting, and it reports everything that is wrong at once. " +
			"Hand the result to `policy` of a workload, of a manifest or of the other functions. " +
			"Parts that are not known yet stay unknown, and with them `digest` and `document`.",
		Parameters: []function.Parameter{
			objectParameter("object", "The policy: an object with any of the attributes of `sandbox_policy`, or a whole `sandbox_policy`. "+
				"A `digest` in it must be that of the attributes."),
		},
		Return: function.ObjectReturn{AttributeTypes: policyResult()},
	}
}

// policyResult are the attributes of a policy as the function returns it.
func policyResult() map[string]attr.Type {
	attributes := map[string]attr.Type{"digest": types.StringType, "document": types.StringType}
	for name, a := range policyAttributes() {
		attributes[name] = a.GetType()
	}
	return attributes
}

func evaluatePolicyFunction(arguments []tftypes.Value, returns tftypes.Type) answer {
	const object = 0
	in := readPolicy(arguments[object], true)
	if faults := in.faults(validating); denied(faults) {
		return answer{complaints: about(object, faults)}
	}
	whole, err := conform(arguments[object], returns)
	if err != nil {
		return answer{complaints: about(object, unreadable(err))}
	}
	if !whole.IsKnown() {
		return answer{value: whole}
	}
	digest, document := unknownText(), unknownText()
	if in.Known.Everything() {
		bytes, err := in.encode()
		if err != nil {
			return answer{complaints: about(object, sandbox.FindingsAt(err, nil))}
		}
		digest, document = textValue(string(manifest.DigestOf(bytes))), textValue(string(bytes))
	}
	value, err := computed{"digest": digest, "document": document}.fill(whole)
	if err != nil {
		return answer{complaints: about(object, unreadable(err))}
	}
	return answer{value: value}
}

// unreadable is the finding for an object that was read before and does not take
// its type now.
func unreadable(err error) []sandbox.Finding {
	return []sandbox.Finding{{
		Code: sandbox.CodeWrongType, Found: fmt.Sprint(err), Required: "the attributes of a policy",
		Remedy: "compare it with the attributes of sandbox_policy",
	}}
}
