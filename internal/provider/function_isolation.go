package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// newMeetsFloorFunction is the function meets_floor.
func newMeetsFloorFunction() function.Function {
	return &pureFunction{name: "meets_floor", definition: meetsFloorDefinition, evaluate: evaluateMeetsFloor}
}

func meetsFloorDefinition() function.Definition {
	return function.Definition{
		Summary: "Whether a rung of isolation is at or above a floor",
		MarkdownDescription: "Compares two rungs of the isolation ladder: " + anyOf(sandbox.Isolations()) + ", weakest first. " +
			"It compares words alone; whether there is evidence behind a backend's rung is decided by `check`.",
		Parameters: []function.Parameter{
			textParameter("rung", "The isolation that a backend provides."),
			function.StringParameter{
				Name: "floor", AllowNullValue: true,
				MarkdownDescription: "The weakest isolation that is accepted. Null is `" + sandbox.DefaultIsolationFloor.String() + "`, the floor where nobody states one.",
			},
		},
		Return: function.BoolReturn{},
	}
}

func evaluateMeetsFloor(arguments []tftypes.Value, _ tftypes.Type) answer {
	const rung, floor = 0, 1
	have, complaints := rungOf(arguments[rung], rung, sandbox.Path("rung"))
	want, more := rungOf(arguments[floor], floor, sandbox.Path("floor"))
	if complaints = append(complaints, more...); len(complaints) > 0 {
		return answer{complaints: complaints}
	}
	if want == sandbox.IsolationUnspecified {
		want = sandbox.DefaultIsolationFloor
	}
	return answer{value: flagValue(have.Meets(want))}
}

// newStrongestFunction is the function strongest.
func newStrongestFunction() function.Function {
	return &pureFunction{name: "strongest", definition: strongestDefinition, evaluate: evaluateStrongest}
}

func strongestDefinition() function.Definition {
	return function.Definition{
		Summary: "The strictest of several isolation floors",
		MarkdownDescription: "Returns the strongest of the rungs, as the decision folds the floors of every policy in force and of the workload. " +
			"The ladder is " + anyOf(sandbox.Isolations()) + ", weakest first. " +
			"A null is no opinion; with no opinion at all the result is null, and as a floor null is `" + sandbox.DefaultIsolationFloor.String() + "`. " +
			"A list is given as `strongest(local.floors...)`.",
		VariadicParameter: function.StringParameter{
			Name: "rungs", AllowNullValue: true, AllowUnknownValues: true,
			MarkdownDescription: "Rungs of the isolation ladder, or null. The top of the ladder decides even beside rungs that are not known yet.",
		},
		Return: function.StringReturn{},
	}
}

func evaluateStrongest(arguments []tftypes.Value, _ tftypes.Type) answer {
	var strongest sandbox.Isolation
	var complaints []complaint
	open := false
	for i, v := range arguments {
		rung, problems := rungOf(v, i, sandbox.Path("rungs", i))
		complaints = append(complaints, problems...)
		strongest = sandbox.Strongest(strongest, rung)
		open = open || !v.IsKnown()
	}
	rungs := sandbox.Isolations()
	switch {
	case len(complaints) > 0:
		return answer{complaints: complaints}
	case open && strongest != rungs[len(rungs)-1]:
		return answer{value: unknownText()}
	default:
		return answer{value: textOrNull(strongest.String())}
	}
}

// rungOf reads a rung. Null and unknown are unspecified.
func rungOf(v tftypes.Value, argument int, at sandbox.FieldPath) (sandbox.Isolation, []complaint) {
	text, ok := asText(v)
	if !ok {
		return sandbox.IsolationUnspecified, nil
	}
	rung, err := sandbox.ParseIsolation(text)
	if err != nil {
		return rung, about(argument, sandbox.FindingsAt(err, at))
	}
	return rung, nil
}
