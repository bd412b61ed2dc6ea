package provider

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// readers read each object of the provider, by the name of its resource.
func readers() map[string]func(tftypes.Value) (known sandbox.Known, findings []sandbox.Finding, result any) {
	return map[string]func(tftypes.Value) (sandbox.Known, []sandbox.Finding, any){
		"sandbox_policy": func(v tftypes.Value) (sandbox.Known, []sandbox.Finding, any) {
			in := readPolicy(v, false)
			return in.Known.Unknown(in.guard.known.Paths()...), in.Findings, []any{in.Policy, in.guard}
		},
		"sandbox_workload": func(v tftypes.Value) (sandbox.Known, []sandbox.Finding, any) {
			in := readWorkload(v, false)
			return in.Known, in.Findings, []any{in.Spec, in.Facts}
		},
		"sandbox_manifest": func(v tftypes.Value) (sandbox.Known, []sandbox.Finding, any) {
			in := readManifest(v, false)
			known := in.Known.Unknown(in.Policy.Known.Paths()...).Unknown(in.guard.known.Paths()...).Unknown(in.Policy.guard.known.Paths()...)
			findings := append(in.Findings, in.Policy.Findings...)
			for _, w := range in.Workloads {
				known = known.Unknown(w.Known.Paths()...)
				findings = append(findings, w.Findings...)
			}
			return known, findings, []any{in.Generation, in.Policy.Policy, in.Policy.guard, in.Workloads, in.guard}
		},
	}
}

func TestEveryObjectReadsAllNullAndAllUnknown(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, read := range readers() {
		typ := s.types[name]
		nulls, unknowns := map[string]tftypes.Value{}, map[string]tftypes.Value{}
		for attribute, at := range typ.AttributeTypes {
			nulls[attribute] = tftypes.NewValue(at, nil)
			unknowns[attribute] = tftypes.NewValue(at, tftypes.UnknownValue)
		}
		if known, _, _ := read(tftypes.NewValue(typ, nulls)); name != "sandbox_manifest" && !known.Everything() {
			t.Errorf("%s of nulls is not known at %v", name, known.Paths())
		}
		if known, findings, _ := read(tftypes.NewValue(typ, unknowns)); known.Everything() || len(findings) > 0 {
			t.Errorf("%s of unknown attributes: known is %v, findings %v", name, known.Everything(), findings)
		}
		if known, findings, _ := read(tftypes.NewValue(typ, tftypes.UnknownValue)); known.Everything() || len(findings) > 0 {
			t.Errorf("unknown %s: known is %v, findings %v", name, known.Everything(), findings)
		}
	}
}

// notRead are the attributes that are outputs or are read on their own.
var notRead = []string{"digest", "verdict", "findings", "document"}

// Every attribute of the schemas must reach the decision: when it is unknown its
// path is marked, and when it is set the value that is read changes.
func TestEveryAttributeOfTheSchemaIsRead(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, read := range readers() {
		typ := s.types[name]
		for attribute, at := range typ.AttributeTypes {
			if slices.Contains(notRead, attribute) || (name == "sandbox_workload" && attribute == "policy") {
				continue
			}
			eachLeaf(at, func(path string, build func(any) tftypes.Value, leaf tftypes.Type) {
				if strings.HasSuffix(path, "digest") && name == "sandbox_manifest" {
					return
				}
				object := func(v any) tftypes.Value {
					attrs := map[string]tftypes.Value{}
					for other, ot := range typ.AttributeTypes {
						attrs[other] = tftypes.NewValue(ot, nil)
					}
					attrs[attribute] = build(v)
					return tftypes.NewValue(typ, attrs)
				}
				if known, _, _ := read(object(tftypes.UnknownValue)); known.Everything() {
					t.Errorf("%s: unknown %s%s is not marked", name, attribute, path)
				}
				_, absentFindings, absent := read(loose(nil))
				_, findings, present := read(object(example(path, leaf)))
				if reflect.DeepEqual(absent, present) && reflect.DeepEqual(findings, absentFindings) {
					t.Errorf("%s: %s%s makes no difference", name, attribute, path)
				}
			})
		}
	}
}

// eachLeaf visits the primitive parts of a type. build makes a value of the whole
// type with one leaf set, everything beside it null.
func eachLeaf(typ tftypes.Type, visit func(path string, build func(any) tftypes.Value, leaf tftypes.Type)) {
	switch typ := typ.(type) {
	case tftypes.Object:
		for name, at := range typ.AttributeTypes {
			eachLeaf(at, func(path string, build func(any) tftypes.Value, leaf tftypes.Type) {
				visit("."+name+path, func(v any) tftypes.Value {
					attrs := map[string]tftypes.Value{}
					for other, ot := range typ.AttributeTypes {
						attrs[other] = tftypes.NewValue(ot, nil)
					}
					attrs[name] = build(v)
					return tftypes.NewValue(typ, attrs)
				}, leaf)
			})
		}
	case tftypes.Map:
		eachLeaf(typ.ElementType, func(path string, build func(any) tftypes.Value, leaf tftypes.Type) {
			visit(`["k"]`+path, func(v any) tftypes.Value {
				return tftypes.NewValue(typ, map[string]tftypes.Value{"k": build(v)})
			}, leaf)
		})
	case tftypes.List:
		eachLeaf(typ.ElementType, func(path string, build func(any) tftypes.Value, leaf tftypes.Type) {
			visit("[0]"+path, func(v any) tftypes.Value {
				return tftypes.NewValue(typ, []tftypes.Value{build(v)})
			}, leaf)
		})
	default:
		visit("", func(v any) tftypes.Value { return tftypes.NewValue(typ, v) }, typ)
	}
}

// example is a value that differs from what an absent attribute reads as. An
// output is required when nothing is said; every other flag is false then.
func example(path string, leaf tftypes.Type) any {
	switch {
	case leaf.Is(tftypes.Number):
		return 7
	case leaf.Is(tftypes.Bool):
		return !strings.HasSuffix(path, ".required")
	default:
		return "x"
	}
}

func TestDynamicValuesReadAsTypedOnesDo(t *testing.T) {
	t.Parallel()
	typ := newServer(t, offline()).types["sandbox_policy"]
	attrs := with(agents(), map[string]any{
		"egress_mode": "allowlist",
		"egress_rules": map[string]any{"api": map[string]any{
			"host": "api.example.com", "ports": []string{"443", "8443"}, "methods": []string{"GET"}, "paths": []string{"*"},
		}},
		"files_in_limits":      map[string]any{"max_bytes_per_file": 1, "max_total_bytes": 2, "max_files": 3},
		"image_require_digest": true,
	})
	typed := readPolicy(value(t, typ, attrs), false)

	rule := loose(map[string]tftypes.Value{
		"host": str("api.example.com"), "ports": tuple(num(443), str("8443")), "methods": tuple(str("GET")), "paths": tuple(str("*")),
	})
	untyped := readPolicy(loose(map[string]tftypes.Value{
		"name": str("agents"), "minimum_isolation": str("runtime"), "denied_identities": tuple(str("app")),
		"egress_mode": str("allowlist"), "egress_rules": loose(map[string]tftypes.Value{"api": rule}),
		"files_in_limits":      loose(map[string]tftypes.Value{"max_bytes_per_file": num(1), "max_total_bytes": str("2"), "max_files": num(3)}),
		"image_require_digest": str("true"),
	}), true)
	if !reflect.DeepEqual(typed, untyped) {
		t.Errorf("typed %+v\nuntyped %+v", typed, untyped)
	}
}

func TestValuesOfAnotherTypeAreFindingsAtTheirPath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attrs map[string]tftypes.Value
		want  string
	}{
		"a list for a word":       {map[string]tftypes.Value{"egress_mode": tuple(str("closed"))}, "value.wrong_type at egress_mode"},
		"a word for a list":       {map[string]tftypes.Value{"egress_hosts": str("a.example.com")}, "value.wrong_type at egress_hosts"},
		"an object in a list":     {map[string]tftypes.Value{"egress_hosts": tuple(loose(nil))}, "value.wrong_type at egress_hosts[0]"},
		"null in a list":          {map[string]tftypes.Value{"egress_hosts": tuple(tftypes.NewValue(tftypes.String, nil))}, "value.null at egress_hosts[0]"},
		"a list for rules":        {map[string]tftypes.Value{"egress_rules": tuple(loose(nil))}, "value.wrong_type at egress_rules"},
		"a string for a rule":     {map[string]tftypes.Value{"egress_rules": loose(map[string]tftypes.Value{"api": str("x")})}, `value.wrong_type at egress_rules["api"]`},
		"null for a rule":         {map[string]tftypes.Value{"egress_rules": loose(map[string]tftypes.Value{"api": tftypes.NewValue(tftypes.DynamicPseudoType, nil)})}, `value.null at egress_rules["api"]`},
		"a word for a flag":       {map[string]tftypes.Value{"image_require_digest": str("yes")}, "value.wrong_type at image_require_digest"},
		"a half for a count":      {map[string]tftypes.Value{"files_in_limits": limits(tftypes.NewValue(tftypes.Number, 1.5))}, "value.out_of_range at files_in_limits.max_files"},
		"a word for a count":      {map[string]tftypes.Value{"files_in_limits": limits(str("many"))}, "value.wrong_type at files_in_limits.max_files"},
		"a count that is missing": {map[string]tftypes.Value{"files_in_limits": loose(map[string]tftypes.Value{"max_bytes_per_file": num(1), "max_total_bytes": num(1)})}, "value.null at files_in_limits.max_files"},
		"an unknown word":         {map[string]tftypes.Value{"minimum_isolation": str("process")}, "value.unknown_word at minimum_isolation"},
		"an empty word":           {map[string]tftypes.Value{"minimum_isolation": str("")}, "value.unknown_word at minimum_isolation"},
		"an unknown listed word":  {map[string]tftypes.Value{"denied_identities": tuple(str("app"), str("App"))}, "value.unknown_word at denied_identities[1]"},
		"an unknown name":         {map[string]tftypes.Value{"egress_host": tuple(str("a.example.com"))}, "value.unknown_name at egress_host"},
		"an unknown inner name": {
			map[string]tftypes.Value{"egress_rules": loose(map[string]tftypes.Value{"api": loose(map[string]tftypes.Value{"method": tuple(str("GET"))})})},
			`value.unknown_name at egress_rules["api"].method`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := readPolicy(loose(c.attrs), true)
			if len(in.Findings) != 1 || in.Findings[0].Locator() != c.want {
				t.Fatalf("findings %+v, want only %s", in.Findings, c.want)
			}
			if in.Findings[0].Remedy == "" || in.Findings[0].Required == "" || in.Findings[0].Found == "" {
				t.Errorf("finding %+v does not say what to do", in.Findings[0])
			}
		})
	}
}

// Terraform drops a misspelt name inside an object, so what is seen is an output
// without a path.
func TestAnOutputWithoutAPathIsToldToCheckItsSpelling(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		output tftypes.Value
		want   int
	}{
		"no path":       {loose(map[string]tftypes.Value{"media_type": str("image/png")}), 1},
		"a path":        {loose(map[string]tftypes.Value{"path": str("chart.png")}), 0},
		"not known yet": {tftypes.NewValue(tftypes.DynamicPseudoType, tftypes.UnknownValue), 0},
	} {
		in := readWorkload(loose(map[string]tftypes.Value{"outputs": loose(map[string]tftypes.Value{"chart": c.output})}), true)
		if len(in.Findings) != c.want {
			t.Errorf("%s: %+v", name, in.Findings)
		}
		for _, f := range in.Findings {
			if f.Locator() != `value.null at outputs["chart"].path` || !strings.Contains(f.Remedy, "spelt") {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

func TestAMisspeltNameIsAnsweredWithTheRightOne(t *testing.T) {
	t.Parallel()
	in := readPolicy(loose(map[string]tftypes.Value{"egress_host": tuple(str("a.example.com"))}), true)
	if len(in.Findings) != 1 || in.Findings[0].Remedy != `write "egress_hosts"` {
		t.Errorf("findings %+v", in.Findings)
	}
}

func TestARejectedValueDrawsNoConclusions(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	diags := s.validate(t, "sandbox_workload", with(report(agents()), map[string]any{"minimum_isolation": "mikrovm", "requires": []string{"run-code"}, "outputs": nil}))
	if got, want := locators(diags), []string{"value.unknown_word at minimum_isolation", "value.unknown_word at requires[0]"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q: nothing follows from words that nobody meant", got, want)
	}
}

func limits(files tftypes.Value) tftypes.Value {
	return loose(map[string]tftypes.Value{"max_bytes_per_file": num(1), "max_total_bytes": num(1), "max_files": files})
}

// str, num, tuple and loose build dynamic values, as a function receives them.
func str(text string) tftypes.Value { return tftypes.NewValue(tftypes.String, text) }

func num(n int) tftypes.Value { return tftypes.NewValue(tftypes.Number, n) }

func tuple(elements ...tftypes.Value) tftypes.Value {
	types := make([]tftypes.Type, len(elements))
	for i, e := range elements {
		types[i] = e.Type()
	}
	return tftypes.NewValue(tftypes.Tuple{ElementTypes: types}, elements)
}

func loose(attrs map[string]tftypes.Value) tftypes.Value {
	types := map[string]tftypes.Type{}
	for name, v := range attrs {
		types[name] = v.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, attrs)
}
