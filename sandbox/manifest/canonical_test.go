package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func TestCanonicalBringsAnyLayoutToTheOneForm(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/full.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var loose any
	if err := json.Unmarshal(want, &loose); err != nil {
		t.Fatal(err)
	}
	spread, err := json.MarshalIndent(loose, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"as it is":      want,
		"spread":        append(spread, '\n'),
		"with a break":  append(bytes.Clone(want), '\n'),
		"with escapes":  bytes.Replace(want, []byte("manifest"), []byte(`\u006danifest`), 1),
		"spaced inside": bytes.ReplaceAll(want, []byte(`":`), []byte(`" : `)),
	} {
		got, err := manifest.Canonical(b)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

func TestCanonicalSortsSetsAndNothingElse(t *testing.T) {
	t.Parallel()
	loose := `{"document": "workload", "api_version": "sandbox/v1", "workload": {
		"requires": ["files_in", "exec"], "kind": "codeact", "backend": "acas",
		"egress_mode": "allowlist", "egress_hosts": ["b.example.com", "a.example.com"]}}`
	got, err := manifest.Canonical([]byte(loose))
	want := `{"api_version":"sandbox/v1","document":"workload","workload":{"backend":"acas",` +
		`"egress_hosts":["b.example.com","a.example.com"],"egress_mode":"allowlist","kind":"codeact","requires":["exec","files_in"]}}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

func TestCanonicalMendsNoMistake(t *testing.T) {
	t.Parallel()
	policy := func(fields string) string {
		return `{"api_version":"sandbox/v1","document":"policy","policy":{` + fields + `}}`
	}
	for name, row := range map[string]struct {
		document string
		code     sandbox.Code
	}{
		"an unknown field":       {policy(`"minimum_isolatoin":"vm"`), sandbox.CodeDocumentUnknownField},
		"a case variant":         {policy(`"Name":"x"`), sandbox.CodeDocumentUnknownField},
		"a name stated twice":    {policy(`"name":"x","name":"y"`), sandbox.CodeDocumentDuplicate},
		"null":                   {policy(`"name":null`), sandbox.CodeNullField},
		"a word stated twice":    {policy(`"denied_capabilities":["exec","exec"]`), sandbox.CodeDocumentNotCanonical},
		"an integer too large":   {policy(`"files_in_limits":{"max_bytes_per_file":9007199254740993,"max_files":1,"max_total_bytes":1}`), sandbox.CodeOutOfRange},
		"a host that is none":    {policy(`"egress_mode":"allowlist","egress_hosts":["https://x"]`), sandbox.CodeEgressHostInvalid},
		"more after the end":     {policy(`"name":"x"`) + "{}", sandbox.CodeDocumentSyntax},
		"bytes that are no JSON": {"name: x", sandbox.CodeDocumentSyntax},
		"another version":        {strings.Replace(policy(`"name":"x"`), "v1", "v2", 1), sandbox.CodeDocumentVersion},
		"a backend's facts":      {`{"document":"backend"}`, sandbox.CodeDocumentType},
	} {
		if got, err := manifest.Canonical([]byte(row.document)); !errors.Is(err, row.code) || got != nil {
			t.Errorf("%s: %v, want %s", name, err, row.code)
		}
	}
	if _, err := manifest.Canonical([]byte(policy(`"name":"x"`))); err != nil {
		t.Errorf("the neighbour without a mistake: %v", err)
	}
}
