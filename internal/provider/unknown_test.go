package provider

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// rich is an admitted workload that states as much as possible.
func rich() map[string]any {
	rule := map[string]any{"host": "api.example.com", "ports": []any{"443"}, "methods": []any{"GET"}, "paths": []any{"*"}}
	limits := map[string]any{"max_bytes_per_file": 1024, "max_total_bytes": 4096, "max_files": 4}
	return map[string]any{
		"policy": map[string]any{
			"name": "agents", "minimum_isolation": "microvm", "minimum_evidence": "documented", "minimum_isolation_scope": "conversation",
			"minimum_cleanup": "dispose", "denied_capabilities": []any{"snapshot"}, "denied_identities": []any{"app"},
			"maximum_identity_scope": "none", "egress_mode": "allowlist", "egress_hosts": []any{"packages.example.org", "*.files.example.org"},
			"egress_rules": map[string]any{"api": rule}, "egress_guarantees": []any{"sni_bound"}, "egress_match": "exact",
			"missing_guarantees": "warn", "never_reaches": []any{"169.254.0.0/16"}, "files_in_limits": limits, "files_out_limits": limits,
			"image_registries": []any{"registry.example.com"}, "image_require_digest": false, "image_prebuilt": "allow", "image_user": "root",
		},
		"backend": "acas", "kind": "codeact", "requires": []any{"exec", "files_in", "files_out"},
		"image":             map[string]any{"prebuilt": "python-3.13", "user": "root", "platform": "linux/amd64"},
		"minimum_isolation": "microvm", "isolation_scope": "conversation", "minimum_cleanup": "dispose", "os_family": "posix",
		"work_dir": "/srv/task", "labels": map[string]any{"team": "a"},
		"egress_mode": "allowlist", "egress_hosts": []any{"packages.example.org"}, "egress_rules": map[string]any{"api": rule},
		"egress_guarantees": []any{"method_confined"}, "files_in_limits": limits, "files_out_limits": limits,
		"outputs":                    map[string]any{"chart": map[string]any{"path": "chart.png", "name": "c.png", "media_type": "image/png", "required": true, "disposition": "land"}},
		"outputs_named_at_call_time": true,
	}
}

// A value that is not known yet must never refuse what its value would admit.
func TestAnyPartOfAnAdmittedWorkloadMayBeUnknown(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	if _, diags := s.plan(t, "sandbox_workload", nil, rich()); failed(diags) {
		t.Fatalf("the workload is not admitted: %s", render(diags))
	}
	tried := 0
	eachPart(rich(), "", func(path string, attrs map[string]any) {
		tried++
		if diags := s.validate(t, "sandbox_workload", attrs); len(diags) > 0 {
			t.Errorf("with an unknown %s: %s", path, render(diags))
		}
		planned, diags := s.plan(t, "sandbox_workload", nil, attrs)
		if failed(diags) || text(t, planned, "verdict") != "unknown" || text(t, planned, "digest") != "unknown" {
			t.Errorf("with an unknown %s the plan says %s\n%s", path, text(t, planned, "verdict"), render(diags))
		}
	})
	if tried < 90 {
		t.Errorf("only %d parts were tried", tried)
	}
}

// The same for attributes that nobody states, one at a time.
func TestAnyUnstatedAttributeMayBeUnknown(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for _, attrs := range []map[string]any{report(agents()), rich()} {
		typ := s.types["sandbox_workload"]
		policyType, ok := typ.AttributeTypes["policy"].(tftypes.Object)
		if !ok {
			t.Fatal("policy is no object")
		}
		for name := range typ.AttributeTypes {
			if name == "digest" || name == "verdict" || name == "findings" {
				continue
			}
			if diags := s.validate(t, "sandbox_workload", with(attrs, map[string]any{name: notKnown{}})); len(diags) > 0 {
				t.Errorf("with an unknown %s: %s", name, render(diags))
			}
		}
		for name := range policyType.AttributeTypes {
			policy := with(plainMap(t, attrs["policy"]), map[string]any{name: notKnown{}})
			if diags := s.validate(t, "sandbox_workload", with(attrs, map[string]any{"policy": policy})); len(diags) > 0 {
				t.Errorf("with an unknown policy.%s: %s", name, render(diags))
			}
		}
	}
}

// eachPart calls try with a copy of attrs in which one part is unknown, for every
// part at every depth.
func eachPart(attrs map[string]any, at string, try func(path string, attrs map[string]any)) {
	for name, part := range attrs {
		replace := func(v any) map[string]any {
			changed := maps.Clone(attrs)
			changed[name] = v
			return changed
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		try(path, replace(notKnown{}))
		switch part := part.(type) {
		case map[string]any:
			eachPart(part, path, func(path string, inner map[string]any) { try(path, replace(inner)) })
		case []any:
			for i := range part {
				list := append([]any(nil), part...)
				list[i] = notKnown{}
				try(path+"[]", replace(list))
			}
		}
	}
}
