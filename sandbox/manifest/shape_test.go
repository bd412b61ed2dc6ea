package manifest

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	json "github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// The reading of the schema in this package is held against a complete one.

func complete(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile("schema.json#/$defs/manifestDocument")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// agree compares both readings of one document.
func agree(t interface{ Fatalf(string, ...any) }, s *jsonschema.Schema, document []byte) {
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil || len(scan(document)) > 0 {
		return
	}
	theirs := s.Validate(instance)
	ours := validate(document, "manifest")
	if (theirs == nil) != (len(ours) == 0) {
		t.Fatalf("%s\nwhole reading: %v\nours: %v", document, theirs, ours)
	}
}

func TestTheSchemaIsReadAsACompleteReaderReadsIt(t *testing.T) {
	t.Parallel()
	s := complete(t)
	full, err := os.ReadFile("testdata/full.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	agree(t, s, full)
	if len(validate(full, "manifest")) > 0 {
		t.Fatalf("the full manifest is refused: %v", validate(full, "manifest"))
	}
	replacements := []any{
		"", "x", strings.Repeat("x", 2000), true, false, 0.0, 1.0, -1.0, float64(1 << 53),
		[]any{},
		[]any{"exec"},
		[]any{"exec", "exec"},
		[]any{1.0},
		map[string]any{},
		map[string]any{"x": "y"},
		map[string]any{"": "y"},
	}
	rapid.Check(t, func(t *rapid.T) {
		var document any
		if err := json.Unmarshal(full, &document); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			mutate(t, document, replacements)
		}
		b, err := json.Marshal(document, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		agree(t, s, b)
	})
}

// mutate changes one place of a document: a value replaced, a member removed or
// a member added.
func mutate(t *rapid.T, v any, replacements []any) {
	object, ok := v.(map[string]any)
	if !ok || len(object) == 0 {
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(object))).Draw(t, "name")
	switch rapid.IntRange(0, 5).Draw(t, "how") {
	case 0:
		delete(object, name)
	case 1:
		object[rapid.SampledFrom([]string{"x", "Policy", "egress_mode", "kind"}).Draw(t, "added")] = rapid.SampledFrom(replacements).Draw(t, "value")
	case 2:
		object[name] = rapid.SampledFrom(replacements).Draw(t, "value")
	default:
		if _, below := object[name].(map[string]any); below {
			mutate(t, object[name], replacements)
			return
		}
		object[name] = rapid.SampledFrom(replacements).Draw(t, "value")
	}
}

func TestAnUnknownKeywordOfTheSchemaIsAnError(t *testing.T) {
	t.Parallel()
	var s shape
	if err := json.Unmarshal([]byte(`{"type":"object","patternProperties":{}}`), &s, json.RejectUnknownMembers(true)); err == nil {
		t.Error("a keyword that nobody enforces was read")
	}
}
