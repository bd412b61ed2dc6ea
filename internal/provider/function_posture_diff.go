package provider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// newPostureDiffFunction is the function posture_diff.
func newPostureDiffFunction() function.Function {
	return &pureFunction{name: "posture_diff", definition: postureDiffDefinition, evaluate: evaluatePostureDiff}
}

func postureDiffDefinition() function.Definition {
	return function.Definition{
		Summary: "What one policy, workload or manifest permits beyond another",
		MarkdownDescription: "Compares an earlier side with a later one exactly as `on_widening` compares a plan with its state, and returns:\n\n" +
			postureDiffDescription() +
			"\n" + postureSidesDescription() + "\n\n" +
			"Results are unknown until everything that they depend on is known; a widening that is certain anyway is told at once. " +
			"What cannot be read, down to a misspelt name, and two sides of different sorts are errors.",
		Parameters: []function.Parameter{
			objectParameter("before", "The earlier side, such as `file(\"main.manifest.json\")` from a branch that is trusted."),
			objectParameter("after", "The later side, of the same sort, such as `sandbox_manifest.hosts`."),
		},
		Return: function.ObjectReturn{AttributeTypes: postureDiffResult()},
	}
}

// postureSidesDescription says what can be compared.
func postureSidesDescription() string {
	return "Each side is a policy, a workload (an object with `kind`) or a manifest (an object with `policy` and `workloads`), and both are of one sort. " +
		"It is given as an object (a resource, the result of the function `policy`, or an object with the attributes of one) or as the text of its `sandbox/v1` document, which is read as strictly as a host reads it. " +
		"Manifests are compared part by part, with the policy that a runner imposed where the document carries one: a new workload widens unless an earlier one of its kind and backend could do as much, and renaming one is neither wider nor narrower."
}

// postureDiffDescription says what the values of a difference are.
func postureDiffDescription() string {
	return "* `widened`: whether anything became possible;\n" +
		"* `narrowed`: whether anything became impossible;\n" +
		"* `changes`: everything that differs, in a fixed order, each with `subject` (what changed, such as `workload \"report\"`), `axis` (the attribute, or `egress` for all of it together), `path` (where it stands in the later side), " +
		"`change` (" + changeWords() + "), `before`, `after`, and `witness`, one thing that became possible, or null.\n"
}

// changeWords explains how an axis can have moved.
func changeWords() string {
	meaning := map[policy.Change]string{
		policy.Incomparable: ", which counts both ways",
		policy.Replaced:     ", by another of what has no order and within what the policies permit, which counts neither way",
	}
	var words []string
	for _, c := range policy.Changes() {
		words = append(words, "`"+c.String()+"`"+meaning[c])
	}
	return strings.Join(words, "; ")
}

func postureDiffResult() map[string]attr.Type {
	return map[string]attr.Type{
		"widened": types.BoolType, "narrowed": types.BoolType,
		"changes": types.ListType{ElemType: types.ObjectType{AttrTypes: postureChange()}},
	}
}

// postureChange is one change as data.
func postureChange() map[string]attr.Type {
	return map[string]attr.Type{
		"subject": types.StringType, "axis": types.StringType, "path": types.StringType, "change": types.StringType,
		"before": types.StringType, "after": types.StringType, "witness": types.StringType,
	}
}

func evaluatePostureDiff(arguments []tftypes.Value, returns tftypes.Type) answer {
	const before, after = 0, 1
	d := diffPostures(arguments[before], arguments[after])
	if complaints := append(about(before, d.before.findings), about(after, d.after.findings)...); len(complaints) > 0 {
		return answer{complaints: complaints}
	}
	return answer{value: d.values(attributesOf(returns)).of(returns)}
}

// postureDiff are two sides and, where both can be read, how they differ.
type postureDiff struct {
	before, after postureSide
	// subjects are nil while the earlier side is not wholly known.
	subjects []policy.SubjectChange
}

func diffPostures(before, after tftypes.Value) postureDiff {
	d := postureDiff{before: readSide(before), after: readSide(after)}
	if denied(d.before.findings) || denied(d.after.findings) {
		return d
	}
	if was, is := d.before.sort, d.after.sort; was != "" && is != "" && was != is {
		d.after.findings = append(d.after.findings, sandbox.Finding{
			Code: sandbox.CodeContradiction, Found: "a " + is, Required: "a " + was + ", as before is one",
			Remedy: "compare two of one sort",
		})
		return d
	}
	if d.before.known() && d.after.sort != "" {
		d.subjects = comparedBySort(d.before, d.after)
	}
	return d
}

// comparedBySort compares two sides of one sort, of which the earlier is known.
func comparedBySort(before, after postureSide) []policy.SubjectChange {
	was, is := before.posture, after.posture
	switch after.sort {
	case sortPolicy:
		return []policy.SubjectChange{{
			Subject: is.Policy.Source, Comparison: policy.ComparePolicy(was.Policy.Policy, is.Policy.Policy, is.Policy.Known),
		}}
	case sortWorkload:
		return []policy.SubjectChange{{
			Subject: sortWorkload, Comparison: policy.CompareWorkload(was.Workloads[""].Spec, is.Workloads[""]),
		}}
	default:
		return policy.ComparePostures(was, is)
	}
}

// values are the answer, unknown where something that is not known yet may still
// change it. What widened or narrowed for certain is said at once.
func (d postureDiff) values(types computedTypes) computed {
	values := computed{
		"widened": unknownFlag(), "narrowed": unknownFlag(),
		"changes": tftypes.NewValue(types["changes"], tftypes.UnknownValue),
	}
	widened, narrowed, decided := policy.Moved(d.subjects)
	decided = decided && d.subjects != nil
	if decided || widened {
		values["widened"] = flagValue(widened)
	}
	if decided || narrowed {
		values["narrowed"] = flagValue(narrowed)
	}
	if decided {
		values["changes"] = changesValue(types["changes"], d.subjects)
	}
	return values
}

func changesValue(typ tftypes.Type, subjects []policy.SubjectChange) tftypes.Value {
	elements := []tftypes.Value{}
	for _, s := range subjects {
		for _, c := range s.Changes {
			elements = append(elements, tftypes.NewValue(elementType(typ), map[string]tftypes.Value{
				"subject": textValue(s.Subject), "axis": textValue(c.Axis), "path": textValue(s.At.Append(c.Path...).String()),
				"change": textValue(c.Change.String()), "before": textValue(c.Before), "after": textValue(c.After),
				"witness": textOrNull(c.Witness),
			}))
		}
	}
	return tftypes.NewValue(typ, elements)
}
