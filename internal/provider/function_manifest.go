package provider

import (
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// newManifestFunction makes constructors of the function manifest. getenv tells
// whether a runner imposes a policy.
func newManifestFunction(getenv func(string) string) func() function.Function {
	return func() function.Function {
		return &pureFunction{
			name: "manifest", definition: manifestDefinition,
			evaluate: func(arguments []tftypes.Value, returns tftypes.Type) answer {
				if file := getenv(envPolicyFile); file != "" {
					return answer{complaints: about(0, []sandbox.Finding{notCarried(file)})}
				}
				return evaluateManifestFunction(arguments, returns)
			},
		}
	}
}

func manifestDefinition() function.Definition {
	return function.Definition{
		Summary: "The document that hosts open, without a resource",
		MarkdownDescription: "Judges every workload under the policy, as `sandbox_manifest` does, and returns:\n\n" +
			"* `document`: the manifest in its canonical form, byte for byte what hosts open;\n" +
			"* `digest`: SHA-256 of `document`, equal to the `digest` of a `sandbox_manifest` of the same attributes.\n\n" +
			"A workload that is denied is an error, and so is a misspelt name at any level of nesting. " +
			"Both results are unknown until everything in the arguments is known; a refusal that is certain comes at once.\n\n" +
			"A function sees its arguments alone. A manifest that carries the policy which the provider's configuration imposes is made by the resource, " +
			"and where a runner imposes one through `" + envPolicyFile + "` this function refuses to make any.",
		Parameters: []function.Parameter{
			objectParameter("policy", "The policy in force for all workloads: a `sandbox_policy`, the result of the function `policy`, or an object with the attributes of one."),
			objectParameter("workloads", "The workloads by the name under which hosts attach them, each a `sandbox_workload` or an object with the attributes of one."),
		},
		VariadicParameter: function.DynamicParameter{
			Name: "generation", AllowNullValue: true, AllowUnknownValues: true,
			MarkdownDescription: "At most one number that grows with each manifest, from 1 to 2^53-1, such as the run number of a pipeline. None when left out or null.",
		},
		Return: function.ObjectReturn{AttributeTypes: manifestResult()},
	}
}

func manifestResult() map[string]attr.Type {
	return map[string]attr.Type{"document": types.StringType, "digest": types.StringType}
}

// notCarried refuses a document that would lack what the runner imposes.
func notCarried(file string) sandbox.Finding {
	return sandbox.Finding{
		Code: sandbox.CodePlatformPolicy, Subject: manifest.PlatformPolicy,
		Found:    envPolicyFile + " imposes " + sandbox.Echo(file) + ", which a function does not see",
		Required: "a manifest that carries the imposed policy",
		Remedy:   "make the manifest with the resource sandbox_manifest",
	}
}

// The arguments of manifest.
const (
	manifestPolicy = iota
	manifestWorkloads
	manifestGeneration
)

func evaluateManifestFunction(arguments []tftypes.Value, returns tftypes.Type) answer {
	parts := map[string]tftypes.Value{"policy": arguments[manifestPolicy], "workloads": arguments[manifestWorkloads]}
	switch generations := arguments[manifestGeneration:]; len(generations) {
	case 0:
	case 1:
		parts["generation"] = generations[0]
	default:
		return answer{complaints: about(manifestGeneration+1, []sandbox.Finding{{
			Code: sandbox.CodeContradiction, Path: sandbox.Path("generation"),
			Found: strconv.Itoa(len(generations)) + " generations", Required: "at most one",
			Remedy: "leave out all but one",
		}})}
	}
	in := readManifest(objectOf(parts), true)
	if v := arguments[manifestWorkloads]; v.IsKnown() && v.IsNull() {
		in.Findings = append(in.Findings, sandbox.Finding{
			Code: sandbox.CodeMissing, Path: sandbox.Path("workloads"), Found: "no workloads", Required: "at least one workload",
			Remedy: "give the workloads by name, such as { report = sandbox_workload.report }",
		})
	}
	findings, settled := in.judge(nil, validating)
	if denied(findings) {
		return answer{complaints: byParameter(findings)}
	}
	if !settled || sandbox.Decide(findings).Verdict != sandbox.Allow {
		return answer{value: attributesOf(returns).unknown().of(returns)}
	}
	document, err := in.document(nil).Encode()
	if err != nil {
		return answer{complaints: byParameter(sandbox.FindingsAt(err, nil))}
	}
	made := computed{"document": textValue(string(document)), "digest": textValue(string(manifest.DigestOf(document)))}
	return answer{value: made.of(returns)}
}

// byParameter puts findings about a manifest at the arguments it was made of.
func byParameter(findings []sandbox.Finding) []complaint {
	var complaints []complaint
	for _, f := range findings {
		argument := manifestPolicy
		if len(f.Path) > 0 {
			switch root, _ := f.Path[0].Attr(); root {
			case "workloads":
				argument = manifestWorkloads
			case "generation":
				argument = manifestGeneration
			}
		}
		complaints = append(complaints, about(argument, []sandbox.Finding{f})...)
	}
	return complaints
}

// objectOf is an object of values of any types.
func objectOf(parts map[string]tftypes.Value) tftypes.Value {
	types := make(map[string]tftypes.Type, len(parts))
	for name, v := range parts {
		types[name] = v.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, parts)
}
