package provider

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// differs renders a difference: both flags and every change on a line.
func differs(t *testing.T, answer tftypes.Value) []string {
	t.Helper()
	attrs := attrsOf(t, answer)
	lines := []string{said(t, attrs["widened"]) + " " + said(t, attrs["narrowed"])}
	if !attrs["changes"].IsKnown() {
		return append(lines, "unknown")
	}
	var elements []tftypes.Value
	if err := attrs["changes"].As(&elements); err != nil {
		t.Fatal(err)
	}
	for _, e := range elements {
		change := attrsOf(t, e)
		var parts []string
		for _, part := range []string{"subject", "change", "axis", "path", "witness"} {
			parts = append(parts, said(t, change[part]))
		}
		lines = append(lines, strings.Join(parts, " | "))
	}
	return lines
}

// handed is a manifest as an object of policy and workloads alone.
func handed(changes map[string]any) map[string]any { return without(posture(changes), "on_widening") }

// documentOf is the document of a manifest of these attributes.
func documentOf(t *testing.T, s *server, attrs map[string]any) string {
	t.Helper()
	return s.call(t, "manifest", attrs["policy"], attrs["workloads"]).of(t, "document")
}

// The function and the data source say the same; where something is not known,
// Terraform asks the data source later.
func TestPostureDiffTellsWhatMoved(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	document := documentOf(t, s, handed(nil))
	policyDocument := s.call(t, "policy", agents()).of(t, "document")
	same := []string{"false false"}
	const report = `workload "report"`
	for name, c := range map[string]struct {
		before, after any
		want          []string
	}{
		"a policy and itself":       {open(), open(), same},
		"a policy and its document": {agents(), policyDocument, same},
		"a document and its policy": {policyDocument, with(agents(), map[string]any{"on_widening": "allow"}), same},
		"a denial less": {agents(), with(agents(), map[string]any{"denied_identities": nil}), []string{
			"true false", `policy "agents" | widened | denied_identities | denied_identities | app no longer denied`,
		}},
		"a denial more": {policyDocument, with(agents(), map[string]any{"denied_identities": []string{"app", "user"}}), []string{
			"false true", `policy "agents" | narrowed | denied_identities | denied_identities | null`,
		}},
		"another host instead": {spec(map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"a.example.com"}}), spec(map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"b.example.com"}}), []string{
			"true true", "workload | incomparable | egress | egress_hosts[0] | b.example.com:443",
		}},
		"another image": {spec(nil), spec(map[string]any{"image": map[string]any{"prebuilt": "python-3.13"}}), []string{
			"false false", "workload | replaced | image | image | null",
		}},
		"another backend": {spec(nil), spec(map[string]any{"backend": "docker"}), []string{
			"true true", "workload | incomparable | backend | backend | null",
		}},
		"a manifest and itself":       {handed(nil), handed(nil), same},
		"a manifest and its document": {handed(nil), document, same},
		"another generation":          {document, handed(map[string]any{"generation": 7}), same},
		"several parts": {document, handed(map[string]any{
			"policy":    with(acasPolicy(), map[string]any{"denied_identities": nil}),
			"workloads": map[string]any{"report": reaching("a.example.com", "b.example.com"), "z": reaching("a.example.com")},
		}), []string{
			"true false",
			`policy "agents" | widened | denied_identities | policy.denied_identities | app no longer denied`,
			report + ` | widened | egress | workloads["report"].egress_hosts[1] | b.example.com:443`,
			`workload "z" | replaced | workloads | workloads["z"] | null`,
		}},
		"a workload less": {handed(workloads(map[string]any{"report": reaching("a.example.com"), "z": reaching("z.example.com")})), document, []string{
			"false true", `workload "z" | narrowed | workloads | workloads["z"] | null`,
		}},
		"nothing known":           {notKnown{}, notKnown{}, []string{"unknown unknown", "unknown"}},
		"an unknown later side":   {agents(), notKnown{}, []string{"unknown unknown", "unknown"}},
		"an unknown earlier part": {with(agents(), map[string]any{"egress_mode": notKnown{}}), with(agents(), map[string]any{"denied_identities": nil}), []string{"unknown unknown", "unknown"}},
		"a certain widening":      {agents(), with(agents(), map[string]any{"denied_identities": nil, "egress_mode": notKnown{}}), []string{"true unknown", "unknown"}},
		"a certain narrowing":     {agents(), with(agents(), map[string]any{"minimum_isolation": "vm", "egress_mode": notKnown{}}), []string{"unknown true", "unknown"}},
		"an unknown workload":     {document, handed(workloads(map[string]any{"report": notKnown{}})), []string{"unknown unknown", "unknown"}},
		"an unknown generation":   {handed(map[string]any{"generation": notKnown{}}), document, same},
		"an unknown document":     {document, with(handed(nil), map[string]any{"document": notKnown{}, "digest": notKnown{}}), []string{"unknown unknown", "unknown"}},
		"an invented document":    {document, with(handed(nil), map[string]any{"document": "a1b2c3d4", "digest": "e5"}), same},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := differs(t, s.call(t, "posture_diff", c.before, c.after).must(t).value); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if slices.Contains(c.want, "unknown") {
				return
			}
			before, after := expression(t, c.before), expression(t, c.after)
			sides := map[string]any{"before": before, "after": after}
			if diags := s.validateData(t, "sandbox_posture_diff", sides); len(diags) > 0 {
				t.Errorf("validate: %s", render(diags))
			}
			state, diags := s.read(t, "sandbox_posture_diff", sides)
			if len(diags) > 0 {
				t.Fatalf("read: %s", render(diags))
			}
			if got := differs(t, state); !slices.Equal(got, c.want) {
				t.Errorf("the data source tells\n%s", strings.Join(got, "\n"))
			}
			if !attribute(state, "before").Equal(before) || !attribute(state, "after").Equal(after) {
				t.Errorf("the sides became %s", state)
			}
		})
	}
}

// What a runner imposed stands in the document alone, so a whole manifest is
// compared with it and must still be the one of its document.
func TestPostureDiffOfAWholeManifestSeesWhatIsImposed(t *testing.T) {
	t.Parallel()
	imposed, _ := policyDocument(t, sandbox.Policy{DeniedIdentities: sandbox.SetOf(sandbox.IdentityUser)})
	s := newServer(t, platform(map[string]string{envPolicyFile: "platform.json"}, map[string][]byte{"platform.json": imposed})).configure(t, nil)
	whole := *applied(t, s, "sandbox_manifest", handed(nil))
	document := documentOf(t, newServer(t, offline()), handed(nil))
	got := differs(t, s.call(t, "posture_diff", document, whole).must(t).value)
	want := []string{"false true", "platform policy | narrowed | denied_identities | host_policy.denied_identities | null"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	lost, err := computed{"policy": tftypes.NewValue(attribute(whole, "policy").Type(), nil)}.fill(whole)
	if err != nil {
		t.Fatal(err)
	}
	s.call(t, "posture_diff", whole, lost).refusedAt(t, 1, "value.missing at policy")
	parts := maps.Clone(attrsOf(t, attribute(whole, "policy")))
	parts["denied_identities"] = tftypes.NewValue(parts["denied_identities"].Type(), nil)
	lost, err = computed{"policy": tftypes.NewValue(attribute(whole, "policy").Type(), parts)}.fill(whole)
	if err != nil {
		t.Fatal(err)
	}
	s.call(t, "posture_diff", whole, lost).refusedAt(t, 1, "document.attributes_lost")
}

func TestPostureDiffRefusesAtTheArgument(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	document := documentOf(t, s, handed(nil))
	facts := `{"api":"sandbox/v1","document":"backend"}`
	for name, c := range map[string]struct {
		before, after any
		argument      int64
		locators      []string
	}{
		"null":                        {nil, agents(), 0, []string{"value.missing"}},
		"a number":                    {7, agents(), 0, []string{"value.wrong_type"}},
		"a misspelt name":             {agents(), with(agents(), map[string]any{"denied_identites": nil}), 1, []string{"value.unknown_name at denied_identites"}},
		"a misspelt name in a part":   {handed(nil), handed(workloads(map[string]any{"report": with(reaching("a.example.com"), map[string]any{"require": nil})})), 1, []string{`value.unknown_name at workloads["report"].require`}},
		"a misspelt name at the root": {handed(map[string]any{"generaton": 1}), handed(nil), 0, []string{"value.unknown_name at generaton"}},
		"a malformed host":            {document, handed(workloads(map[string]any{"report": reaching("*")})), 1, []string{`egress.host_invalid at workloads["report"].egress_hosts[0]`}},
		"a policy and a workload":     {agents(), spec(nil), 1, []string{"value.contradiction"}},
		"a policy and a manifest":     {agents(), document, 1, []string{"value.contradiction"}},
		"facts":                       {facts, document, 0, []string{"value.wrong_type"}},
		"a document with a newline":   {document + "\n", document, 0, []string{"document.not_canonical"}},
		"no document":                 {"manifest.json", document, 0, []string{"document.syntax"}},
		"both at once":                {nil, nil, 0, []string{"value.missing", "value.missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.call(t, "posture_diff", c.before, c.after).refusedAt(t, c.argument, c.locators...)
			if c.before == nil || c.after == nil {
				return
			}
			diags := s.validateData(t, "sandbox_posture_diff", map[string]any{"before": expression(t, c.before), "after": expression(t, c.after)})
			if len(diags) != len(c.locators) {
				t.Errorf("the data source says\n%s", render(diags))
			}
		})
	}
}

// Terraform names one parameter in front of the whole text.
func TestWhatIsAboutAnotherArgumentNamesIt(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	misspelt := with(agents(), map[string]any{"denied_identites": nil})
	const other = `Invalid value for "after" parameter: `
	if text := s.call(t, "posture_diff", misspelt, misspelt).err.Text; strings.Count(text, other) != 1 || strings.HasPrefix(text, other) {
		t.Errorf("both:\n%s", text)
	}
	if text := s.call(t, "posture_diff", agents(), misspelt).err.Text; strings.Contains(text, other) {
		t.Errorf("the second alone:\n%s", text)
	}
}

func TestPostureDiffOfADecodedDocumentSaysToGiveItsText(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	text := `{"api_version":"sandbox/v1","document":"policy","policy":{}}`
	decoded := map[string]any{"api_version": "sandbox/v1", "document": "policy", "policy": map[string]any{}}
	s.call(t, "posture_diff", text, text).must(t)
	got := s.call(t, "posture_diff", text, decoded)
	got.refusedAt(t, 1, string(sandbox.CodeWrongType))
	if !strings.Contains(got.err.Text, "ithout jsondecode()") {
		t.Error(got.err.Text)
	}
}
