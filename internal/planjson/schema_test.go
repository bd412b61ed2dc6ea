package planjson_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/planjson"
)

// unread are the attributes that say nothing of what is asked for or permitted:
// answers of the provider, and what it compares with its own earlier state.
var unread = map[string]bool{
	"accept_widening": true, "on_widening": true, "generation": true,
	"digest": true, "document": true, "verdict": true, "findings": true,
}

// The provider's reviewed schema and what is read here are two lists of the same
// names. Each attribute of the schema is left unknown alone, in objects that are
// otherwise empty: a reader that does not look at it would call all known.
func TestEveryAttributeOfTheSchemaIsRead(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../provider/testdata/schema.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := map[string]string{}
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	read := 0
	for attribute := range schema {
		names := strings.Split(attribute, ".")
		resource, last := names[0], names[len(names)-1]
		if resource != "sandbox_workload" && resource != "sandbox_manifest" {
			continue
		}
		// image.digest is what a workload asks for, beside its own digest.
		if unread[last] && !strings.HasSuffix(attribute, ".image.digest") {
			continue
		}
		// Where the workloads run decides nothing about them, and the document has it.
		if attribute == "sandbox_manifest.group" || strings.HasPrefix(attribute, "sandbox_manifest.group.") {
			continue
		}
		read++
		after, unknown := alone(schema, resource, names[1:])
		if everythingKnown(t, resource, after, unknown) {
			t.Errorf("%s is not read", attribute)
		}
		if !everythingKnown(t, resource, after, nil) {
			t.Errorf("%s: %v is not known although nothing is marked", attribute, after)
		}
	}
	if read < 100 {
		t.Errorf("%d attributes were tried, of a schema of %d", read, len(schema))
	}
}

// alone is an object in which one attribute, however deep, is unknown and the
// objects around it are there.
func alone(schema map[string]string, at string, names []string) (after, unknown any) {
	at += "." + names[0]
	if len(names) == 1 {
		return map[string]any{}, map[string]any{names[0]: true}
	}
	after, unknown = alone(schema, at, names[1:])
	if strings.HasSuffix(schema[at], "nested map") {
		after, unknown = map[string]any{"key": after}, map[string]any{"key": unknown}
	}
	return map[string]any{names[0]: after}, map[string]any{names[0]: unknown}
}

func everythingKnown(t *testing.T, resource string, after, unknown any) bool {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"format_version": "1.2",
		"resource_changes": []any{map[string]any{
			"address": resource + ".x", "mode": "managed", "type": resource, "provider_name": "sandbox-iac/sandbox",
			"change": map[string]any{"actions": []string{"create"}, "after": withWorkloads(after), "after_unknown": unknown},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := planjson.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	known := true
	workload := func(w planjson.Workload) {
		known = known && w.Known.Everything() && (w.Policy == nil || w.Policy.Known.Everything())
	}
	for _, w := range p.Workloads {
		workload(w)
	}
	for _, m := range p.Manifests {
		known = known && m.Policy.Known.Everything() && m.WorkloadsKnown
		for _, w := range m.Workloads {
			workload(w)
		}
	}
	if len(p.Workloads)+len(p.Manifests) != 1 {
		t.Fatalf("%d objects", len(p.Workloads)+len(p.Manifests))
	}
	return known
}

// withWorkloads states the attribute without which a manifest's workloads count
// as unknown.
func withWorkloads(after any) any {
	if m, ok := after.(map[string]any); ok && m["workloads"] == nil {
		m["workloads"] = map[string]any{}
	}
	return after
}
