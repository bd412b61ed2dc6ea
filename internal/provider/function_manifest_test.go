package provider

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func TestManifestFunctionMakesTheDocumentOfTheResource(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	workloads := map[string]any{"report": spec(nil), "other": spec(map[string]any{"kind": "other"})}
	for name, generation := range map[string][]any{"without a generation": nil, "with one": {7}, "with null": {nil}} {
		attrs := map[string]any{"policy": agents(), "workloads": workloads}
		if len(generation) > 0 && generation[0] != nil {
			attrs["generation"] = generation[0]
		}
		planned, diags := s.plan(t, "sandbox_manifest", nil, attrs)
		if failed(diags) {
			t.Fatal(render(diags))
		}
		got := s.call(t, "manifest", append([]any{agents(), workloads}, generation...)...)
		if got.of(t, "document") != text(t, planned, "document") || got.of(t, "digest") != text(t, planned, "digest") {
			t.Errorf("%s: %s, the resource has %s", name, got.value, planned)
		}
		if _, err := manifest.Parse([]byte(got.of(t, "document"))); err != nil {
			t.Errorf("%s: a host refuses it: %v", name, err)
		}
	}
}

func TestManifestFunctionTakesResultsOfTheOtherFunctions(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	policy := s.call(t, "policy", agents()).must(t).value
	got := s.call(t, "manifest", policy, map[string]any{"report": spec(nil)})
	plain := s.call(t, "manifest", agents(), map[string]any{"report": spec(nil)})
	if got.of(t, "digest") != plain.of(t, "digest") {
		t.Error("a checked policy makes another manifest than its object")
	}
}

func TestManifestFunctionRefuses(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	good := map[string]any{"report": spec(nil)}
	one := func(changes map[string]any) map[string]any { return map[string]any{"report": spec(changes)} }
	for name, c := range map[string]struct {
		arguments []any
		argument  int64
		locators  []string
	}{
		"a denied workload": {[]any{agents(), one(map[string]any{"requires": []string{"exec", "files_out"}})}, 1, []string{`capability.missing at workloads["report"].requires`}},
		"one of two":        {[]any{agents(), map[string]any{"a": spec(nil), "b": spec(map[string]any{"backend": "docker"})}}, 1, []string{`capability.missing at workloads["b"].requires`, `isolation.evidence_insufficient at workloads["b"].backend`}},
		"a loosened policy": {[]any{with(agents(), map[string]any{"minimum_isolation": "vm"}), good}, 1, []string{`isolation.below_floor at workloads["report"].backend`}},
		"an image where the backend takes none": {
			[]any{agents(), one(map[string]any{"image": map[string]any{"reference": "registry.example.com/a:1"}})},
			1,
			[]string{`image.not_supported at workloads["report"].image.reference`},
		},
		"an image whose user nobody knows": {
			[]any{
				with(agents(), map[string]any{"image_user": "non_root", "minimum_evidence": "documented"}),
				one(map[string]any{"backend": "docker", "requires": []string{"exec", "files_out"}, "image": map[string]any{"reference": "registry.example.com/a:1"}}),
			},
			1,
			[]string{`image.user_denied at workloads["report"].image.user`},
		},
		"a certain deny beside what is unknown": {
			[]any{agents(), map[string]any{"a": notKnown{}, "b": spec(map[string]any{"requires": []string{"exec", "files_out"}})}},
			1,
			[]string{`capability.missing at workloads["b"].requires`},
		},
		"no policy":                 {[]any{nil, good}, 0, []string{"value.missing at policy"}},
		"no workloads":              {[]any{agents(), nil}, 1, []string{"value.missing at workloads"}},
		"an empty map of workloads": {[]any{agents(), map[string]any{}}, 1, []string{"value.missing at workloads"}},
		"a list of workloads":       {[]any{agents(), []any{spec(nil)}}, 1, []string{"value.wrong_type at workloads"}},
		"a null workload":           {[]any{agents(), map[string]any{"report": nil}}, 1, []string{`value.null at workloads["report"]`}},
		"a misspelt name":           {[]any{agents(), one(map[string]any{"require": []string{}})}, 1, []string{`value.unknown_name at workloads["report"].require`}},
		"a misspelt name in the policy": {
			[]any{with(agents(), map[string]any{"never_reach": []string{}}), good}, 0, []string{"value.unknown_name at policy.never_reach"},
		},
		"generation 0":           {[]any{agents(), good, 0}, 2, []string{"value.out_of_range at generation"}},
		"a generation of text":   {[]any{agents(), good, "soon"}, 2, []string{"value.wrong_type at generation"}},
		"two generations":        {[]any{agents(), good, 1, 2}, 3, []string{"value.contradiction at generation"}},
		"a loosened copy":        {[]any{with(agents(), map[string]any{"digest": string(manifest.DigestOf(nil))}), good}, 0, []string{"document.attributes_lost at policy"}},
		"a changed workload":     {[]any{agents(), one(map[string]any{"digest": string(manifest.DigestOf(nil))})}, 1, []string{`document.attributes_lost at workloads["report"]`}},
		"a workload without any": {[]any{agents(), map[string]any{"report": map[string]any{}}}, 1, []string{`value.missing at workloads["report"].kind`, `backend.unknown at workloads["report"].backend`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.call(t, "manifest", c.arguments...).refusedAt(t, c.argument, c.locators...)
		})
	}
}

func TestManifestFunctionIsUnknownUntilEverythingIsKnown(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	good := map[string]any{"report": spec(nil)}
	for name, arguments := range map[string][]any{
		"the policy":              {notKnown{}, good},
		"a part of the policy":    {with(agents(), map[string]any{"name": notKnown{}}), good},
		"the workloads":           {agents(), notKnown{}},
		"a workload":              {agents(), map[string]any{"report": notKnown{}}},
		"a part of a workload":    {agents(), map[string]any{"report": spec(map[string]any{"backend": notKnown{}})}},
		"the generation":          {agents(), good, notKnown{}},
		"an output of a workload": {agents(), map[string]any{"report": spec(map[string]any{"outputs": map[string]any{"x": notKnown{}}})}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.call(t, "manifest", arguments...)
			if got.of(t, "document") != "unknown" || got.of(t, "digest") != "unknown" {
				t.Errorf("answered %s", got.value)
			}
		})
	}
}

// A document made by a function could not carry what the runner imposes, so none
// is made.
func TestManifestFunctionRefusesWhereARunnerImposesAPolicy(t *testing.T) {
	t.Parallel()
	p := offline()
	p.getenv = func(name string) string {
		if name == envPolicyFile {
			return "platform-policy.json"
		}
		return ""
	}
	newServer(t, p).call(t, "manifest", agents(), map[string]any{"report": spec(nil)}).refusedAt(t, 0, "platform_policy.unreadable")
	newServer(t, offline()).call(t, "manifest", agents(), map[string]any{"report": spec(nil)}).must(t)
}
