package planjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/planjson"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile("testdata/" + name + "/plan.json")
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func read(t *testing.T, name string) planjson.Plan {
	t.Helper()
	p, err := planjson.Read(bytes.NewReader(fixture(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is read from the attributes must be what the provider wrote into the
// document from the same attributes.
func TestAKnownWorkloadIsReadAsTheDocumentHasIt(t *testing.T) {
	t.Parallel()
	p := read(t, "known")
	if p.Errored || p.Incomplete || p.Policies != 1 || len(p.Workloads) != 2 || len(p.Manifests) != 1 {
		t.Fatalf("%+v", p)
	}
	parsed, err := manifest.Parse(p.Manifests[0].Document)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []planjson.Workload{p.Workloads[1], p.Manifests[0].Workloads["report"]} {
		got, err := manifest.EncodeWorkload(w.Spec)
		if err != nil {
			t.Fatal(err)
		}
		want, err := manifest.EncodeWorkload(parsed.Workloads["report"])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) || !w.Known.Everything() || len(w.Findings) > 0 {
			t.Errorf("read %s\nwant %s", got, want)
		}
	}
	for _, policy := range []planjson.Policy{*p.Workloads[0].Policy, p.Manifests[0].Policy} {
		got, err := manifest.EncodePolicy(policy.Policy)
		if err != nil {
			t.Fatal(err)
		}
		want, err := manifest.EncodePolicy(parsed.Policy)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) || !policy.Known.Everything() {
			t.Errorf("read %s\nwant %s", got, want)
		}
	}
	if w := p.Workloads[0]; w.Address != `sandbox_workload.all["left"]` || !w.Decided || !w.FactsKnown {
		t.Errorf("%+v", w)
	}
}

func TestWhatIsNotKnownYetIsMarkedAndNothingElse(t *testing.T) {
	t.Parallel()
	p := read(t, "unknown")
	texts := func(known sandbox.Known) []string {
		var all []string
		for _, path := range known.Paths() {
			all = append(all, path.String())
		}
		slices.Sort(all)
		return all
	}
	w := p.Workloads[0]
	if got, want := texts(w.Known), []string{"egress_hosts[1]", "image.user", `labels["team"]`, `outputs["chart"].name`}; !slices.Equal(got, want) {
		t.Errorf("workload: unknown %q, want %q", got, want)
	}
	if got, want := texts(w.Policy.Known), []string{"egress_hosts[1]", `egress_rules["api"].host`}; !slices.Equal(got, want) {
		t.Errorf("policy: unknown %q, want %q", got, want)
	}
	if w.Decided || w.Spec.Image.Prebuilt != "python-3.13" || w.Spec.Egress.Hosts[0] != "packages.example.org" {
		t.Errorf("%+v", w)
	}
	m := p.Manifests[0]
	if m.Document != nil || !m.WorkloadsKnown || len(m.Workloads) != 1 {
		t.Errorf("%+v", m)
	}
}

func TestAFailedPlanLacksWhatWasRefused(t *testing.T) {
	t.Parallel()
	p := read(t, "errored")
	if !p.Errored || len(p.Workloads) != 0 || p.Policies != 1 {
		t.Errorf("%+v", p)
	}
}

// changed reads the known plan after its first resource change was edited.
func changed(t *testing.T, edit func(change map[string]any)) planjson.Plan {
	t.Helper()
	var plan map[string]json.RawMessage
	var changes []map[string]any
	if err := json.Unmarshal(fixture(t, "known"), &plan); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plan["resource_changes"], &changes); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		edit(change)
	}
	edited, err := json.Marshal(changes)
	if err != nil {
		t.Fatal(err)
	}
	plan["resource_changes"] = edited
	b, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	p, err := planjson.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOnlyOursThatStayAreCounted(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(map[string]any){
		"another provider": func(c map[string]any) { c["provider_name"] = "registry.example.com/evil/sandbox" },
		"a suffix of ours": func(c map[string]any) { c["provider_name"] = "registry.example.com/xsandbox-iac/sandbox" },
		"a data source":    func(c map[string]any) { c["mode"] = "data" },
		"what is deleted": func(c map[string]any) {
			c["change"] = map[string]any{"actions": []string{"delete"}, "after": nil}
		},
	} {
		p := changed(t, edit)
		if len(p.Workloads)+len(p.Manifests)+p.Policies != 0 {
			t.Errorf("%s was counted", name)
		}
	}
	if p := changed(t, func(c map[string]any) { c["provider_name"] = "sandbox-iac/sandbox" }); len(p.Workloads) != 2 {
		t.Error("ours was not counted")
	}
}

func TestAValueOfAnotherTypeIsAFinding(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"requires": "exec", "egress_hosts": []any{1}, "egress_rules": []any{}, "image": 1, "labels": map[string]any{"a": 1},
		"outputs": map[string]any{"a": "b"}, "kind": true, "outputs_named_at_call_time": "yes",
		"identity_retention_seconds": 1.5, "minimum_isolation": "process",
		"files_in_limits": map[string]any{"max_files": 1e300, "max_total_bytes": -1, "max_bytes_per_file": 9007199254740993},
	} {
		p := changed(t, func(c map[string]any) {
			change, _ := c["change"].(map[string]any)
			after, _ := change["after"].(map[string]any)
			if c["type"] == "sandbox_workload" && after != nil {
				after[name] = value
			}
		})
		if len(p.Workloads) != 2 || len(p.Workloads[0].Findings) == 0 {
			t.Errorf("%s = %v passed", name, value)
			continue
		}
		if f := p.Workloads[0].Findings[0]; f.Verdict != sandbox.Deny || !strings.HasPrefix(f.Path.String(), name) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestWhatIsNoPlanIsRefused(t *testing.T) {
	t.Parallel()
	whole := string(fixture(t, "known"))
	for name, row := range map[string]struct {
		text string
		code sandbox.Code
	}{
		"nothing":            {"", sandbox.CodeDocumentSyntax},
		"a list":             {"[]", sandbox.CodeDocumentSyntax},
		"cut off":            {whole[:len(whole)/2], sandbox.CodeDocumentSyntax},
		"two of them":        {whole + whole, sandbox.CodeDocumentSyntax},
		"another format":     {strings.Replace(whole, `"format_version":"1.2"`, `"format_version":"2.0"`, 1), sandbox.CodeDocumentVersion},
		"no format":          {`{"resource_changes":[]}`, sandbox.CodeDocumentVersion},
		"a name twice":       {`{"format_version":"1.2","errored":true,"errored":false}`, sandbox.CodeDocumentSyntax},
		"changes of no list": {`{"format_version":"1.2","resource_changes":{}}`, sandbox.CodeDocumentSyntax},
		"a change of text":   {`{"format_version":"1.2","resource_changes":["x"]}`, sandbox.CodeDocumentSyntax},
		"nested without end": {`{"format_version":"1.2","x":` + strings.Repeat("[", 100_000), sandbox.CodeDocumentSyntax},
		"nested in a change": {`{"format_version":"1.2","resource_changes":[{"change":{"after":` + strings.Repeat("[", 100_000), sandbox.CodeDocumentSyntax},
	} {
		if _, err := planjson.Read(strings.NewReader(row.text)); !errors.Is(err, row.code) {
			t.Errorf("%s: %v, want %s", name, err, row.code)
		}
	}
	if _, err := planjson.Read(strings.NewReader(`{"format_version":"1.2","resource_changes":null}`)); err != nil {
		t.Errorf("a plan of nothing: %v", err)
	}
}

func TestLooksTellsPlansFromDocuments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		string(fixture(t, "known")[:200]):     true,
		`{"format_version":"1.2"`:             true,
		` { "resource_changes": [`:            true,
		`{"api_version":"sandbox/v1"`:         false,
		`{"document":"manifest","errored":1}`: false,
		"":                                    false,
		"[":                                   false,
		"resource":                            false,
	} {
		if got := planjson.Looks([]byte(text)); got != want {
			t.Errorf("Looks(%.40q) = %v", text, got)
		}
	}
}

// A plan of 50 MB of other people's resources is read in the memory of its
// largest resource.
func TestALargePlanIsReadInSmallMemory(t *testing.T) {
	t.Parallel()
	const resources, padding = 5_000, 10_000
	r, w := io.Pipe()
	go func() {
		one := `{"address":"x.y","mode":"managed","type":"x","provider_name":"a/b","change":{"after":{"v":"` + strings.Repeat("x", padding) + `"}}}`
		_, err := fmt.Fprint(w, `{"format_version":"1.2","planned_values":{"root_module":{"resources":[`)
		for i := range resources {
			if i > 0 && err == nil {
				_, err = fmt.Fprint(w, ",")
			}
			if err == nil {
				_, err = fmt.Fprint(w, one)
			}
		}
		if err == nil {
			_, err = fmt.Fprint(w, `]}},"resource_changes":[`+one+`]}`)
		}
		w.CloseWithError(err)
	}()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, err := planjson.Read(r); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 20<<20 {
		t.Errorf("%d bytes are kept of the plan", grown)
	}
}

func FuzzReadNeverPanics(f *testing.F) {
	for _, name := range []string{"known", "unknown", "errored"} {
		f.Add(fixture(f, name))
	}
	f.Add([]byte(`{"format_version":"1.2","resource_changes":[{"mode":"managed","provider_name":"sandbox-iac/sandbox","type":"sandbox_manifest","change":{"after":{"workloads":[1]},"after_unknown":{"workloads":{"a":[true]}}}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := planjson.Read(bytes.NewReader(b))
		if err != nil && sandbox.RefusalOf(err) == nil {
			t.Errorf("an error that is no refusal: %v", err)
		}
		if err != nil && (len(p.Workloads) > 0 || len(p.Manifests) > 0) {
			t.Error("a plan with an error")
		}
	})
}
