package provider

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// open is a policy that states every sort of attribute there is.
func open() map[string]any {
	return map[string]any{
		"name": "open", "minimum_isolation": "runtime", "denied_capabilities": []string{"snapshot"},
		"egress_mode": "allowlist", "egress_hosts": []string{"a.example.com", "*.b.example.com"},
		"egress_rules": map[string]any{"api": map[string]any{
			"host": "api.example.com", "ports": []any{443, "8000-8099"}, "methods": []string{"GET"}, "paths": []string{"/v1"},
		}},
		"never_reaches": []string{"*.internal.example.com"}, "image_require_digest": true,
		"files_in_limits": map[string]any{"max_bytes_per_file": 1024, "max_total_bytes": 4096, "max_files": 8},
	}
}

// resourceForm is a policy as the resource's type has it: lists of text.
func resourceForm(attrs map[string]any) map[string]any {
	if _, ok := attrs["egress_rules"]; !ok {
		return attrs
	}
	return with(attrs, map[string]any{"egress_rules": map[string]any{"api": map[string]any{
		"host": "api.example.com", "ports": []string{"443", "8000-8099"}, "methods": []string{"GET"}, "paths": []string{"/v1"},
	}}})
}

func TestPolicyFunctionHasTheDigestOfTheResource(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	for name, attrs := range map[string]map[string]any{"small": agents(), "large": open(), "empty": {}} {
		planned, diags := s.plan(t, "sandbox_policy", nil, resourceForm(attrs))
		if failed(diags) {
			t.Fatalf("%s: %s", name, render(diags))
		}
		got := s.call(t, "policy", attrs)
		if want := text(t, planned, "digest"); got.of(t, "digest") != want {
			t.Errorf("%s: digest %s, the resource has %s", name, got.of(t, "digest"), want)
		}
		if digest := manifest.DigestOf([]byte(got.of(t, "document"))); string(digest) != got.of(t, "digest") {
			t.Errorf("%s: the digest is not that of the document", name)
		}
		if _, err := manifest.ParsePolicy([]byte(got.of(t, "document"))); err != nil {
			t.Errorf("%s: the document cannot be imposed: %v", name, err)
		}
		again := s.call(t, "policy", got.value).must(t)
		if !again.value.Equal(got.value) {
			t.Errorf("%s: the function of its own result is another value", name)
		}
		if whole := s.call(t, "policy", planned).must(t); !whole.value.Equal(got.value) {
			t.Errorf("%s: the function of the whole resource is another value", name)
		}
	}
}

func TestPolicyFunctionReturnsEveryAttribute(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	got := attrsOf(t, s.call(t, "policy", map[string]any{"minimum_isolation": "vm"}).must(t).value)
	for name := range policyAttributes() {
		v, ok := got[name]
		switch {
		case !ok:
			t.Errorf("%s is absent", name)
		case name == "minimum_isolation":
			if said(t, v) != "vm" {
				t.Errorf("%s is %s", name, v)
			}
		case !v.IsNull():
			t.Errorf("%s is %s and was never stated", name, v)
		}
	}
}

func TestPolicyFunctionResultIsAPolicyForTheResources(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	made := attrsOf(t, s.call(t, "policy", agents()).must(t).value)
	handed := map[string]any{}
	for name := range policyFragment() {
		if v := made[name]; !v.IsNull() {
			handed[name] = plain(t, v)
		}
	}
	if _, diags := s.plan(t, "sandbox_workload", nil, report(handed)); failed(diags) {
		t.Error(render(diags))
	}
	handed["minimum_isolation"] = "none"
	_, diags := s.plan(t, "sandbox_workload", nil, report(handed))
	if got := locators(diags); !slices.Contains(got, "document.attributes_lost at policy") {
		t.Errorf("a loosened copy was let through: %q", got)
	}
}

// plain is a value of lists and single values as Go data.
func plain(t *testing.T, v tftypes.Value) any {
	t.Helper()
	if !isListed(v) {
		return said(t, v)
	}
	var elements []tftypes.Value
	if err := v.As(&elements); err != nil {
		t.Fatal(err)
	}
	out := make([]any, len(elements))
	for i, e := range elements {
		out[i] = said(t, e)
	}
	return out
}

func TestPolicyFunctionRefusesUnknownNamesAtEveryLevel(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	rule := map[string]any{"host": "api.example.com", "ports": []string{"443"}, "methods": []string{"GET"}, "paths": []string{"*"}}
	limits := map[string]any{"max_bytes_per_file": 1, "max_total_bytes": 1, "max_files": 1}
	for name, c := range map[string]struct {
		change  map[string]any
		locator string
	}{
		"at the root":         {map[string]any{"minimum_isolaton": "vm"}, "value.unknown_name at minimum_isolaton"},
		"at the root, null":   {map[string]any{"minimum_isolaton": nil}, "value.unknown_name at minimum_isolaton"},
		"at the root, open":   {map[string]any{"minimum_isolaton": notKnown{}}, "value.unknown_name at minimum_isolaton"},
		"of a workload":       {map[string]any{"backend": "wasm"}, "value.unknown_name at backend"},
		"in a rule":           {map[string]any{"egress_rules": map[string]any{"api": with(rule, map[string]any{"method": "GET"})}}, `value.unknown_name at egress_rules["api"].method`},
		"in limits":           {map[string]any{"files_in_limits": with(limits, map[string]any{"max_file": 1})}, "value.unknown_name at files_in_limits.max_file"},
		"in the other limits": {map[string]any{"files_out_limits": with(limits, map[string]any{"max_file": 1})}, "value.unknown_name at files_out_limits.max_file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.call(t, "policy", with(open(), c.change)).refusedAt(t, 0, c.locator)
		})
	}
	s.call(t, "policy", with(open(), map[string]any{"egress_rules": map[string]any{"method": rule}})).must(t)
}

func TestPolicyFunctionReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	s.call(t, "policy", map[string]any{
		"minimum_isolation": "micro", "image_registry": "registry.example.com", "egress_mode": "allowlist",
		"egress_hosts": []any{"bad..host", nil, 7}, "denied_capabilities": "exec", "image_require_digest": "yes",
		"egress_rules":    map[string]any{"api": map[string]any{"host": "api.example.com", "port": 443}, "none": nil},
		"files_in_limits": map[string]any{"max_files": 8, "max_total_bytes": "1.5"},
	}).refusedAt(t, 0,
		"value.unknown_word at minimum_isolation",
		"value.unknown_name at image_registry",
		"egress.host_invalid at egress_hosts[0]",
		"value.null at egress_hosts[1]",
		"egress.address_invalid at egress_hosts[2]",
		"value.unknown_name at egress_rules[\"api\"].port",
		"egress.rule_incomplete at egress_rules[\"api\"].ports",
		"egress.rule_incomplete at egress_rules[\"api\"].methods",
		"egress.rule_incomplete at egress_rules[\"api\"].paths",
		"value.null at egress_rules[\"none\"]",
		"value.null at files_in_limits.max_bytes_per_file",
		"value.out_of_range at files_in_limits.max_total_bytes",
		"value.wrong_type at denied_capabilities",
		"value.wrong_type at image_require_digest",
	)
}

func TestPolicyFunctionKeepsUnknownPartsUnknown(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, c := range map[string]struct {
		change map[string]any
		open   []string
	}{
		"a word":               {map[string]any{"minimum_isolation": notKnown{}}, []string{"minimum_isolation"}},
		"one host":             {map[string]any{"egress_hosts": []any{"a.example.com", notKnown{}}}, nil},
		"the rules":            {map[string]any{"egress_rules": notKnown{}}, []string{"egress_rules"}},
		"a part of one rule":   {map[string]any{"egress_rules": map[string]any{"x": map[string]any{"host": notKnown{}, "ports": []string{"*"}, "methods": []string{"*"}, "paths": []string{"*"}}}}, nil},
		"one of the limits":    {map[string]any{"files_in_limits": map[string]any{"max_files": notKnown{}, "max_total_bytes": 1, "max_bytes_per_file": 1}}, nil},
		"a digest it carries":  {map[string]any{"minimum_isolation": notKnown{}, "digest": notKnown{}}, []string{"minimum_isolation"}},
		"a flag and the match": {map[string]any{"image_require_digest": notKnown{}, "egress_match": notKnown{}}, []string{"image_require_digest", "egress_match"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.call(t, "policy", with(open(), c.change)).must(t)
			attrs := attrsOf(t, got.value)
			for attribute, v := range attrs {
				want := slices.Contains(c.open, attribute) || attribute == "digest" || attribute == "document"
				if v.IsKnown() == want {
					t.Errorf("%s is %s", attribute, v)
				}
			}
		})
	}
	if whole := s.call(t, "policy", notKnown{}).must(t); whole.value.IsKnown() {
		t.Errorf("the policy of something unknown is %s", whole.value)
	}
	s.call(t, "policy", with(open(), map[string]any{"minimum_isolation": notKnown{}, "egress_hosts": []string{"bad..host"}})).
		refusedAt(t, 0, "egress.host_invalid at egress_hosts[0]")
}

func TestPolicyFunctionRefusesWhatIsNoPolicy(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	s.call(t, "policy", nil).refusedAt(t, 0, "value.missing")
	for name, argument := range map[string]any{"text": "agents", "a number": 7, "a list": []string{"agents"}, "a flag": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.call(t, "policy", argument).refusedAt(t, 0, "value.wrong_type")
		})
	}
}

func TestPolicyFunctionHoldsTheDigestThatArrives(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	digest := s.call(t, "policy", agents()).of(t, "digest")
	s.call(t, "policy", with(agents(), map[string]any{"digest": digest})).must(t)
	s.call(t, "policy", with(agents(), map[string]any{"digest": digest, "minimum_isolation": "none"})).
		refusedAt(t, 0, "document.attributes_lost")
	// A mock invents digests, and no error of a function may come of that.
	s.call(t, "policy", with(agents(), map[string]any{"digest": "a1b2c3d4"})).must(t)
}
