package provider

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// called is what a function answered.
type called struct {
	value tftypes.Value
	err   *tfprotov6.FunctionError
}

// call calls a function as Terraform does with arguments of plain Go data. What
// a parameter of any type is given takes the type that Terraform's own
// expressions have: objects and tuples.
func (s *server) call(t *testing.T, name string, arguments ...any) called {
	t.Helper()
	functions, err := s.GetFunctions(context.Background(), &tfprotov6.GetFunctionsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	f, ok := functions.Functions[name]
	if !ok {
		t.Fatalf("no function %q", name)
	}
	request := &tfprotov6.CallFunctionRequest{Name: name}
	for i, argument := range arguments {
		parameter := f.VariadicParameter
		if i < len(f.Parameters) {
			parameter = f.Parameters[i]
		}
		v, ok := argument.(tftypes.Value)
		if !ok {
			v = expression(t, argument)
		}
		if !parameter.Type.Is(tftypes.DynamicPseudoType) {
			v = value(t, parameter.Type, argument)
		}
		request.Arguments = append(request.Arguments, dynamic(t, parameter.Type, v))
	}
	resp, err := s.CallFunction(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Error != nil {
		return called{err: resp.Error}
	}
	return called{value: static(t, f.Return.Type, resp.Result)}
}

// expression is a value as an expression has it.
func expression(t *testing.T, v any) tftypes.Value {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return tftypes.NewValue(tftypes.DynamicPseudoType, nil)
	case notKnown:
		return tftypes.NewValue(tftypes.DynamicPseudoType, tftypes.UnknownValue)
	case string:
		return tftypes.NewValue(tftypes.String, v)
	case bool:
		return tftypes.NewValue(tftypes.Bool, v)
	case int:
		return tftypes.NewValue(tftypes.Number, v)
	case tftypes.Value:
		return v
	case []string, []any:
		list := plainList(v)
		types, elements := make([]tftypes.Type, len(list)), make([]tftypes.Value, len(list))
		for i, e := range list {
			elements[i] = expression(t, e)
			types[i] = elements[i].Type()
		}
		return tftypes.NewValue(tftypes.Tuple{ElementTypes: types}, elements)
	default:
		parts := map[string]tftypes.Value{}
		for name, e := range plainMap(t, v) {
			parts[name] = expression(t, e)
		}
		return objectOf(parts)
	}
}

// of is an attribute of the result as text, "null" or "unknown".
func (c called) of(t *testing.T, name string) string {
	t.Helper()
	c.must(t)
	return said(t, attrsOf(t, c.value)[name])
}

// said renders a single value as text, "null" or "unknown".
func said(t *testing.T, v tftypes.Value) string {
	t.Helper()
	switch {
	case !v.IsKnown():
		return "unknown"
	case v.IsNull():
		return "null"
	}
	text, ok := asText(v)
	if !ok {
		t.Fatalf("%s is no single value", v)
	}
	return text
}

// must fails the test when the function refused.
func (c called) must(t *testing.T) called {
	t.Helper()
	if c.err != nil {
		t.Fatalf("refused: %s", c.err.Text)
	}
	return c
}

// refusedAt wants a refusal at an argument with exactly these locators, in any
// order, and nothing guessed beside it.
func (c called) refusedAt(t *testing.T, argument int64, locators ...string) {
	t.Helper()
	if c.err == nil {
		t.Fatalf("answered %s, want a refusal with %q", c.value, locators)
	}
	if c.err.FunctionArgument == nil || *c.err.FunctionArgument != argument {
		t.Errorf("the refusal is not at argument %d: %v", argument, c.err.FunctionArgument)
	}
	got := functionLocators(c.err)
	slices.Sort(got)
	slices.Sort(locators)
	if !slices.Equal(got, locators) {
		t.Errorf("found %q, want %q in\n%s", got, locators, c.err.Text)
	}
}

// functionLocators are the lines of an error that stand alone after one space.
func functionLocators(err *tfprotov6.FunctionError) []string {
	var out []string
	for line := range strings.SplitSeq(err.Text, "\n") {
		if locator, ok := strings.CutPrefix(line, " "); ok {
			out = append(out, locator)
		}
	}
	return out
}

// read calls ReadDataSource.
func (s *server) read(t *testing.T, name string, attrs map[string]any) (tftypes.Value, []*tfprotov6.Diagnostic) {
	t.Helper()
	typ := s.dataType(t, name)
	config := dynamic(t, typ, value(t, typ, attrs))
	resp, err := s.ReadDataSource(context.Background(), &tfprotov6.ReadDataSourceRequest{TypeName: name, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	return static(t, typ, resp.State), resp.Diagnostics
}

// validateData calls ValidateDataResourceConfig.
func (s *server) validateData(t *testing.T, name string, attrs map[string]any) []*tfprotov6.Diagnostic {
	t.Helper()
	typ := s.dataType(t, name)
	resp, err := s.ValidateDataResourceConfig(context.Background(), &tfprotov6.ValidateDataResourceConfigRequest{
		TypeName: name, Config: dynamic(t, typ, value(t, typ, attrs)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Diagnostics
}

func (s *server) dataType(t *testing.T, name string) tftypes.Object {
	t.Helper()
	schemas, err := s.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return objectType(t, schemas.DataSourceSchemas[name])
}

// codesOf are the codes and paths of findings as data.
func codesOf(t *testing.T, findings tftypes.Value) []string {
	t.Helper()
	var elements []tftypes.Value
	if err := findings.As(&elements); err != nil {
		t.Fatalf("%s: %v", findings, err)
	}
	out := make([]string, len(elements))
	for i, e := range elements {
		attrs := attrsOf(t, e)
		out[i] = said(t, attrs["code"]) + " at " + said(t, attrs["path"])
	}
	return out
}

// without returns a copy of attributes without some of them.
func without(attrs map[string]any, names ...string) map[string]any {
	out := maps.Clone(attrs)
	for _, name := range names {
		delete(out, name)
	}
	return out
}
