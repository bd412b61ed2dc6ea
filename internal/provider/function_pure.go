package provider

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

var _ function.Function = (*pureFunction)(nil)

// pureFunction is a function whose answer follows from its arguments alone. Its
// arguments are read as resources read their attributes, and what is refused is
// said in the same words.
type pureFunction struct {
	name       string
	definition func() function.Definition
	// evaluate makes a value of the return type, which is returns.
	evaluate func(arguments []tftypes.Value, returns tftypes.Type) answer
}

// answer is what a function says: a value of its return type or, when there are
// complaints, nothing but those.
type answer struct {
	value      tftypes.Value
	complaints []complaint
}

// complaint is a finding about one argument, counted from zero. Its path counts
// from the argument where the argument is an object, and starts with the
// argument's name otherwise.
type complaint struct {
	argument int
	sandbox.Finding
}

// about makes complaints of the findings that deny.
func about(argument int, findings []sandbox.Finding) []complaint {
	var complaints []complaint
	for _, f := range findings {
		if f.Verdict == sandbox.Deny {
			complaints = append(complaints, complaint{argument, f})
		}
	}
	return complaints
}

func (f *pureFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = f.name
}

func (f *pureFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = f.definition()
}

// Run reads the arguments, evaluates them and hands the answer back.
func (f *pureFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	definition := f.definition()
	arguments, err := argumentsOf(ctx, definition, req.Arguments)
	if err != nil {
		resp.Error = functionFault(err)
		return
	}
	returns := definition.Return.GetType()
	said := f.evaluate(arguments, returns.TerraformType(ctx))
	if len(said.complaints) > 0 {
		resp.Error = functionError(definition, said.complaints)
		return
	}
	result, err := returns.ValueFromTerraform(ctx, said.value)
	if err != nil {
		resp.Error = functionFault(fmt.Errorf("return the result of %s: %w", f.name, err))
		return
	}
	resp.Error = resp.Result.Set(ctx, result)
}

// argumentsOf are all arguments as Terraform's own values, those of a variadic
// parameter each by itself.
func argumentsOf(ctx context.Context, d function.Definition, given function.ArgumentsData) ([]tftypes.Value, error) {
	var arguments []tftypes.Value
	for i := range d.Parameters {
		v, err := argumentAt(ctx, given, i)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, v)
	}
	if d.VariadicParameter == nil {
		return arguments, nil
	}
	v, err := argumentAt(ctx, given, len(d.Parameters))
	if err != nil {
		return nil, err
	}
	var rest []tftypes.Value
	if err := v.As(&rest); err != nil {
		return nil, fmt.Errorf("read the variadic arguments: %w", err)
	}
	return append(arguments, rest...), nil
}

func argumentAt(ctx context.Context, given function.ArgumentsData, i int) (tftypes.Value, error) {
	var v attr.Value
	if err := given.GetArgument(ctx, i, &v); err != nil {
		return tftypes.Value{}, fmt.Errorf("read argument %d: %w", i+1, err)
	}
	value, err := v.ToTerraformValue(ctx)
	if err != nil {
		return tftypes.Value{}, fmt.Errorf("read argument %d: %w", i+1, err)
	}
	return value, nil
}

// functionError says everything that was refused. The error stands at the first
// argument that something was said about, whose name Terraform puts before the
// text; what is about another argument says so itself. Terraform ends the text
// with a full stop of its own, so the last line is none that programs read.
func functionError(d function.Definition, complaints []complaint) *function.FuncError {
	var b strings.Builder
	for _, c := range complaints {
		if c.argument != complaints[0].argument && c.argument < len(d.Parameters) {
			b.WriteString("Invalid value for \"" + d.Parameters[c.argument].GetName() + "\" parameter: ")
		}
		b.WriteString(c.Code.Summary() + "\n" + detail(c.Finding) + "\n\n")
	}
	b.WriteString(strconv.Itoa(len(complaints)) + " finding")
	if len(complaints) > 1 {
		b.WriteByte('s')
	}
	return function.NewArgumentFuncError(int64(complaints[0].argument), b.String())
}

// functionFault is the error that no argument can cause.
func functionFault(err error) *function.FuncError {
	d := providerFault(err)
	return function.NewFuncError(d.Summary() + ": " + d.Detail())
}

// objectParameter takes any object, parts of it unknown, and reads it strictly.
func objectParameter(name, description string) function.DynamicParameter {
	return function.DynamicParameter{
		Name: name, AllowNullValue: true, AllowUnknownValues: true, MarkdownDescription: description,
	}
}

func textParameter(name, description string) function.StringParameter {
	return function.StringParameter{Name: name, MarkdownDescription: description}
}
