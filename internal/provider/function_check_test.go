package provider

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func TestCheckAllowsWithTheDigestOfTheResource(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	planned, diags := s.plan(t, "sandbox_workload", nil, report(agents()))
	if failed(diags) {
		t.Fatal(render(diags))
	}
	for name, workload := range map[string]any{"an object": spec(nil), "with its policy": report(agents()), "the whole resource": planned} {
		got := s.call(t, "check", agents(), workload)
		if got.of(t, "verdict") != "allow" || got.of(t, "allowed") != "true" || got.of(t, "digest") != text(t, planned, "digest") {
			t.Errorf("%s: %s, want allow with digest %s", name, got.value, text(t, planned, "digest"))
		}
		if codes := codesOf(t, attrsOf(t, got.value)["findings"]); len(codes) > 0 {
			t.Errorf("%s: findings %q", name, codes)
		}
	}
}

// TestCheckFindsWhatTheResourceRefuses compares with the errors of a plan, code
// and path.
func TestCheckFindsWhatTheResourceRefuses(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	for name, c := range map[string]struct{ policy, workload map[string]any }{
		"a capability that the backend lacks": {agents(), spec(map[string]any{"requires": []string{"exec", "files_out"}})},
		"a denied capability":                 {with(agents(), map[string]any{"denied_capabilities": []string{"run_code"}}), spec(nil)},
		"a backend below the floor":           {with(agents(), map[string]any{"minimum_isolation": "vm"}), spec(nil)},
		"a host wider than the policy": {
			with(agents(), map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"a.example.com"}}),
			spec(map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"*.example.com"}, "backend": "acas", "requires": []string{"exec", "files_out"}}),
		},
		"a malformed host":         {agents(), spec(map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"bad..host"}})},
		"outputs without a leg":    {agents(), spec(map[string]any{"requires": []string{"run_code"}})},
		"several contradictions":   {agents(), spec(map[string]any{"kind": "Code Act", "work_dir": "relative", "requires": []string{"reclaim", "files_out"}})},
		"an image from anywhere":   {with(agents(), map[string]any{"image_registries": []string{}}), spec(map[string]any{"image": map[string]any{"reference": "registry.example.com/a:1"}})},
		"a host that nobody wants": {with(agents(), map[string]any{"never_reaches": []string{"*.example.com"}, "egress_mode": "unrestricted"}), spec(map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"a.example.com"}})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.call(t, "check", c.policy, c.workload)
			if got.of(t, "verdict") != "deny" || got.of(t, "allowed") != "false" {
				t.Fatalf("answered %s", got.value)
			}
			_, diags := s.plan(t, "sandbox_workload", nil, with(c.workload, map[string]any{"policy": c.policy}))
			want := locators(diags)
			if len(want) == 0 {
				t.Fatal("the resource refuses nothing")
			}
			for _, code := range codesOf(t, attrsOf(t, got.value)["findings"]) {
				if i := slices.Index(want, code); i >= 0 {
					want = slices.Delete(want, i, i+1)
				}
			}
			if len(want) > 0 {
				t.Errorf("the findings %s lack %q", attrsOf(t, got.value)["findings"], want)
			}
		})
	}
}

func TestCheckReturnsWarningsBesideAnAllow(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	policy := with(agents(), map[string]any{"minimum_isolation": "microvm", "minimum_evidence": "documented", "egress_mode": "allowlist", "egress_hosts": []string{"a.example.com"}})
	workload := map[string]any{"kind": "codeact", "backend": "acas", "requires": []string{"exec"}, "egress_mode": "allowlist", "egress_hosts": []string{"a.example.com"}}
	got := s.call(t, "check", policy, workload)
	if codes := codesOf(t, attrsOf(t, got.value)["findings"]); got.of(t, "verdict") != "allow" || !slices.Contains(codes, "egress.guarantee_missing at egress_mode") {
		t.Errorf("verdict %s with %q", got.of(t, "verdict"), codes)
	}
	strict := s.call(t, "check", with(policy, map[string]any{"missing_guarantees": "refuse"}), workload)
	if strict.of(t, "verdict") != "deny" {
		t.Errorf("verdict %s though the policy refuses missing guarantees", strict.of(t, "verdict"))
	}
}

func TestCheckLeavesOpenWhatUnknownValuesDecide(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, c := range map[string]struct {
		policy, workload any
		verdict, digest  string
	}{
		"the whole policy":      {notKnown{}, spec(nil), "unknown", "known"},
		"the whole workload":    {agents(), notKnown{}, "unknown", "unknown"},
		"both":                  {notKnown{}, notKnown{}, "unknown", "unknown"},
		"the floor":             {with(agents(), map[string]any{"minimum_isolation": notKnown{}}), spec(nil), "unknown", "known"},
		"the backend":           {agents(), spec(map[string]any{"backend": notKnown{}}), "unknown", "unknown"},
		"the facts":             {agents(), spec(map[string]any{"backend_facts": notKnown{}}), "unknown", "unknown"},
		"a label":               {agents(), spec(map[string]any{"labels": map[string]any{"team": notKnown{}}}), "unknown", "unknown"},
		"a certain deny beside": {with(agents(), map[string]any{"name": notKnown{}}), spec(map[string]any{"requires": []string{"exec", "files_out"}}), "deny", "known"},
		"a deny on any backend": {with(agents(), map[string]any{"denied_capabilities": []string{"run_code"}}), spec(map[string]any{"backend": notKnown{}}), "deny", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.call(t, "check", c.policy, c.workload)
			if verdict := got.of(t, "verdict"); verdict != c.verdict {
				t.Errorf("verdict %s, want %s", verdict, c.verdict)
			}
			if digest := got.of(t, "digest"); (digest == "unknown") != (c.digest == "unknown") {
				t.Errorf("digest %s, want a %s one", digest, c.digest)
			}
			if findings := attrsOf(t, got.value)["findings"]; findings.IsKnown() {
				t.Errorf("findings %s though more may come", findings)
			}
		})
	}
}

func TestCheckDeniesAnImageWhoseUserNobodyKnows(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	policy := with(agents(), map[string]any{"image_user": "non_root", "minimum_evidence": "documented"})
	for name, c := range map[string]struct {
		user any
		want string
	}{"another user": {"1000", "allow"}, "root": {"root", "deny"}, "nobody knows": {nil, "deny"}, "not known yet": {notKnown{}, "unknown"}} {
		workload := spec(map[string]any{
			"backend": "docker", "requires": []string{"exec", "files_out"},
			"image": map[string]any{"reference": "registry.example.com/a:1", "user": c.user},
		})
		if got := s.call(t, "check", policy, workload); got.of(t, "verdict") != c.want {
			t.Errorf("%s: %s, want %s", name, got.of(t, "verdict"), c.want)
		}
	}
}

func TestCheckRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	facts, err := manifest.EncodeDeclarations(declared(t, "docker"))
	if err != nil {
		t.Fatal(err)
	}
	output := map[string]any{"path": "chart.png"}
	limits := map[string]any{"max_bytes_per_file": 1, "max_total_bytes": 1, "max_files": 1}
	rule := map[string]any{"host": "a.example.com", "ports": []string{"443"}, "methods": []string{"*"}, "paths": []string{"*"}, "path": "/v1"}
	for name, c := range map[string]struct {
		policy, workload any
		argument         int64
		locators         []string
	}{
		"no policy":                     {nil, spec(nil), 0, []string{"value.missing at policy"}},
		"a policy of text":              {"agents", spec(nil), 0, []string{"value.wrong_type at policy"}},
		"a misspelt floor":              {with(agents(), map[string]any{"minimum_isolaton": "vm"}), spec(nil), 0, []string{"value.unknown_name at policy.minimum_isolaton"}},
		"a contradiction in the policy": {with(agents(), map[string]any{"egress_hosts": []string{"a.example.com"}}), spec(nil), 0, []string{"egress.hosts_without_allowlist at policy.egress_hosts"}},
		"no workload":                   {agents(), nil, 1, []string{"value.missing at kind", "value.missing at backend"}},
		"a workload of text":            {agents(), "report", 1, []string{"value.wrong_type"}},
		"no backend":                    {agents(), without(spec(nil), "backend"), 1, []string{"value.missing at backend"}},
		"no kind":                       {agents(), without(spec(nil), "kind"), 1, []string{"value.missing at kind"}},
		"a backend that is none":        {agents(), spec(map[string]any{"backend": "wasmm"}), 1, []string{"backend.unknown at backend"}},
		"facts of another backend":      {agents(), spec(map[string]any{"backend_facts": string(facts)}), 1, []string{"backend.declarations_invalid at backend_facts"}},
		"facts that are none":           {agents(), spec(map[string]any{"backend_facts": "{"}), 1, []string{"document.syntax at backend_facts"}},
		"a word that is none":           {agents(), spec(map[string]any{"requires": []string{"run_cod", "files_out"}}), 1, []string{"value.unknown_word at requires[0]"}},
		"a name at the root":            {agents(), spec(map[string]any{"egress_host": "a"}), 1, []string{"value.unknown_name at egress_host"}},
		"a name in the image":           {agents(), spec(map[string]any{"image": map[string]any{"ref": "a"}}), 1, []string{"value.unknown_name at image.ref"}},
		"a name in a rule":              {agents(), spec(map[string]any{"egress_rules": map[string]any{"api": rule}}), 1, []string{`value.unknown_name at egress_rules["api"].path`}},
		"a name in an output":           {agents(), spec(map[string]any{"outputs": map[string]any{"chart": with(output, map[string]any{"optional": true})}}), 1, []string{`value.unknown_name at outputs["chart"].optional`}},
		"a name in the limits":          {agents(), spec(map[string]any{"files_out_limits": with(limits, map[string]any{"files": 1})}), 1, []string{"value.unknown_name at files_out_limits.files"}},
		"both":                          {with(agents(), map[string]any{"a": 1}), spec(map[string]any{"b": 1}), 0, []string{"value.unknown_name at policy.a", "value.unknown_name at b"}},
		"a name beside unknown parts":   {notKnown{}, spec(map[string]any{"backend": notKnown{}, "b": 1}), 1, []string{"value.unknown_name at b"}},
		"a broken seal":                 {agents(), spec(map[string]any{"digest": string(manifest.DigestOf(nil))}), 1, []string{"document.attributes_lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.call(t, "check", c.policy, c.workload).refusedAt(t, c.argument, c.locators...)
		})
	}
}

func TestCheckJudgesOnGivenFacts(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	facts, err := manifest.EncodeDeclarations(declared(t, "wasm"))
	if err != nil {
		t.Fatal(err)
	}
	workload := spec(map[string]any{"backend_facts": string(facts)})
	if got := s.call(t, "check", agents(), workload); got.of(t, "verdict") != "allow" {
		t.Errorf("answered %s", got.value)
	}
}

// A boolean or a number where text is asked for is its text, as in Terraform's own
// conversions.
func TestCheckReadsSingleValuesAsTheirText(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	labelled := func(value any) string {
		return s.call(t, "check", agents(), spec(map[string]any{"labels": map[string]any{"x": value}})).of(t, "digest")
	}
	for _, c := range []struct{ value, text any }{{true, "true"}, {false, "false"}, {7, "7"}} {
		if labelled(c.value) != labelled(c.text) {
			t.Errorf("the label %v is not %q", c.value, c.text)
		}
	}
	if labelled(true) == labelled(false) {
		t.Error("two labels have one digest")
	}
}

func TestCheckHasNoDigestForAMalformedWorkload(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	got := s.call(t, "check", agents(), spec(map[string]any{"labels": map[string]any{"team": string([]byte{0xff})}}))
	if got.of(t, "digest") != "null" || got.of(t, "verdict") == "allow" {
		t.Errorf("answered %s", got.value)
	}
}

func TestFindingsAsDataCarryEveryPart(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	got := s.call(t, "check",
		with(agents(), map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"a.example.com"}}),
		spec(map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"b.example.com"}}))
	var findings []tftypes.Value
	if err := attrsOf(t, got.value)["findings"].As(&findings); err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		attrs := attrsOf(t, f)
		for _, part := range []string{"verdict", "code", "path", "found", "required", "remedy"} {
			if said(t, attrs[part]) == "" || said(t, attrs[part]) == "null" {
				t.Errorf("%s has no %s", f, part)
			}
		}
		if wide := said(t, attrs["code"]) == "egress.not_within_policy"; wide != (said(t, attrs["witness"]) == "b.example.com:443") {
			t.Errorf("the witness of %s is %s", said(t, attrs["code"]), said(t, attrs["witness"]))
		}
	}
}
