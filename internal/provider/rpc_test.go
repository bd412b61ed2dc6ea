package provider

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// server is the provider as Terraform sees it, without Terraform.
type server struct {
	tfprotov6.ProviderServer
	types map[string]tftypes.Object
}

// newServer serves p. It is not configured, as in `terraform validate`.
func newServer(t *testing.T, p *sandboxProvider) *server {
	t.Helper()
	s := &server{ProviderServer: providerserver.NewProtocol6(p)(), types: map[string]tftypes.Object{}}
	schemas, err := s.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for name, schema := range schemas.ResourceSchemas {
		s.types[name] = objectType(t, schema)
	}
	s.types["provider"] = objectType(t, schemas.Provider)
	return s
}

func objectType(t *testing.T, schema *tfprotov6.Schema) tftypes.Object {
	t.Helper()
	object, ok := schema.ValueType().(tftypes.Object)
	if !ok {
		t.Fatalf("schema is of type %s", schema.ValueType())
	}
	return object
}

// configure gives the provider its block, as a plan does.
func (s *server) configure(t *testing.T, block map[string]any) *server {
	t.Helper()
	config := dynamic(t, s.types["provider"], value(t, s.types["provider"], block))
	resp, err := s.ConfigureProvider(context.Background(), &tfprotov6.ConfigureProviderRequest{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Diagnostics) > 0 {
		t.Fatalf("configure: %s", render(resp.Diagnostics))
	}
	return s
}

func (s *server) config(t *testing.T, resource string, attrs map[string]any) tftypes.Value {
	t.Helper()
	return value(t, s.types[resource], attrs)
}

// validate calls ValidateResourceConfig.
func (s *server) validate(t *testing.T, resource string, attrs map[string]any) []*tfprotov6.Diagnostic {
	t.Helper()
	resp, err := s.ValidateResourceConfig(context.Background(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: resource, Config: dynamic(t, s.types[resource], s.config(t, resource, attrs)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Diagnostics
}

// plan calls PlanResourceChange for a change from prior, nil for a creation.
func (s *server) plan(t *testing.T, resource string, prior *tftypes.Value, attrs map[string]any) (tftypes.Value, []*tfprotov6.Diagnostic) {
	t.Helper()
	typ := s.types[resource]
	config := s.config(t, resource, attrs)
	before := tftypes.NewValue(typ, nil)
	proposed := config
	if prior != nil {
		before = *prior
		proposed = keepComputed(t, typ, config, before)
	}
	resp, err := s.PlanResourceChange(context.Background(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: resource, Config: dynamic(t, typ, config),
		PriorState: dynamic(t, typ, before), ProposedNewState: dynamic(t, typ, proposed),
	})
	if err != nil {
		t.Fatal(err)
	}
	return static(t, typ, resp.PlannedState), resp.Diagnostics
}

// apply plans and applies a creation, or an update from prior.
func (s *server) apply(t *testing.T, resource string, prior *tftypes.Value, attrs map[string]any) (tftypes.Value, []*tfprotov6.Diagnostic) {
	t.Helper()
	typ := s.types[resource]
	planned, diags := s.plan(t, resource, prior, attrs)
	if failed(diags) {
		return planned, diags
	}
	before := tftypes.NewValue(typ, nil)
	if prior != nil {
		before = *prior
	}
	resp, err := s.ApplyResourceChange(context.Background(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: resource, Config: dynamic(t, typ, s.config(t, resource, attrs)),
		PriorState: dynamic(t, typ, before), PlannedState: dynamic(t, typ, planned),
	})
	if err != nil {
		t.Fatal(err)
	}
	return static(t, typ, resp.NewState), resp.Diagnostics
}

// keepComputed is what Terraform proposes: the configuration, with computed
// attributes as they were.
func keepComputed(t *testing.T, typ tftypes.Object, config, prior tftypes.Value) tftypes.Value {
	t.Helper()
	next, before := attrsOf(t, config), attrsOf(t, prior)
	for _, name := range []string{"digest", "verdict", "findings", "document"} {
		if v, ok := before[name]; ok {
			next[name] = v
		}
	}
	return tftypes.NewValue(typ, next)
}

func attrsOf(t *testing.T, v tftypes.Value) map[string]tftypes.Value {
	t.Helper()
	attrs := map[string]tftypes.Value{}
	if err := v.As(&attrs); err != nil {
		t.Fatal(err)
	}
	return attrs
}

// text is a string attribute: its value, "null" or "unknown".
func text(t *testing.T, v tftypes.Value, name string) string {
	t.Helper()
	attr := attrsOf(t, v)[name]
	switch {
	case !attr.IsKnown():
		return "unknown"
	case attr.IsNull():
		return "null"
	}
	var s string
	if err := attr.As(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// notKnown stands for an unknown value in test configurations.
type notKnown struct{}

// value builds a value of a type from plain Go data. Attributes that are left
// out are null.
func value(t *testing.T, typ tftypes.Type, v any) tftypes.Value {
	t.Helper()
	if v == nil {
		return tftypes.NewValue(typ, nil)
	}
	if _, ok := v.(notKnown); ok {
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	}
	if given, ok := v.(tftypes.Value); ok {
		return given
	}
	switch typ := typ.(type) {
	case tftypes.Object:
		given := plainMap(t, v)
		attrs := map[string]tftypes.Value{}
		for name, attr := range typ.AttributeTypes {
			attrs[name] = value(t, attr, given[name])
		}
		for name := range given {
			if _, ok := typ.AttributeTypes[name]; !ok {
				t.Fatalf("no attribute %q in %s", name, typ)
			}
		}
		return tftypes.NewValue(typ, attrs)
	case tftypes.Map:
		elements := map[string]tftypes.Value{}
		for key, e := range plainMap(t, v) {
			elements[key] = value(t, typ.ElementType, e)
		}
		return tftypes.NewValue(typ, elements)
	case tftypes.List:
		var elements []tftypes.Value
		for _, e := range plainList(v) {
			elements = append(elements, value(t, typ.ElementType, e))
		}
		if elements == nil {
			elements = []tftypes.Value{}
		}
		return tftypes.NewValue(typ, elements)
	default:
		return tftypes.NewValue(typ, v)
	}
}

func plainMap(t *testing.T, v any) map[string]any {
	t.Helper()
	switch m := v.(type) {
	case map[string]any:
		return m
	case map[string]string:
		out := map[string]any{}
		for key, e := range m {
			out[key] = e
		}
		return out
	default:
		t.Fatalf("%T is no map", v)
		return nil
	}
}

func plainList(v any) []any {
	if texts, ok := v.([]string); ok {
		out := make([]any, len(texts))
		for i, e := range texts {
			out[i] = e
		}
		return out
	}
	list, _ := v.([]any)
	return list
}

func dynamic(t *testing.T, typ tftypes.Type, v tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	d, err := tfprotov6.NewDynamicValue(typ, v)
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

func static(t *testing.T, typ tftypes.Type, d *tfprotov6.DynamicValue) tftypes.Value {
	t.Helper()
	v, err := d.Unmarshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func failed(diags []*tfprotov6.Diagnostic) bool {
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return true
		}
	}
	return false
}

// render shows diagnostics in a test's failure.
func render(diags []*tfprotov6.Diagnostic) string {
	var b strings.Builder
	for _, d := range diags {
		b.WriteString(d.Severity.String() + ": " + d.Summary + "\n" + d.Detail + "\n")
	}
	return b.String()
}

// locators are the last lines of diagnostics: what programs read.
func locators(diags []*tfprotov6.Diagnostic) []string {
	out := make([]string, 0, len(diags))
	for _, d := range diags {
		out = append(out, strings.TrimPrefix(d.Detail[strings.LastIndexByte(d.Detail, '\n')+1:], " "))
	}
	return out
}

// with returns a copy of attributes with some of them replaced.
func with(attrs, changes map[string]any) map[string]any {
	out := maps.Clone(attrs)
	maps.Copy(out, changes)
	return out
}

// agents is a policy that admits the workload report.
func agents() map[string]any {
	return map[string]any{
		"name":              "agents",
		"minimum_isolation": "runtime",
		"denied_identities": []string{"app"},
		"egress_mode":       "closed",
	}
}

// report is a workload that is admitted under the policy agents.
func report(policy any) map[string]any {
	return map[string]any{
		"policy": policy, "backend": "wasm", "kind": "codeact",
		"requires": []string{"run_code", "files_in", "files_out"},
		"outputs":  map[string]any{"chart": map[string]any{"path": "chart.png", "required": false}},
	}
}
