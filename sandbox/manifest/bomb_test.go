package manifest_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

const (
	openPolicy   = `{"api_version":"sandbox/v1","document":"manifest","policy":{`
	closePolicy  = `},"workloads":{"a":{"backend":"wasm","kind":"k","requires":[]}}}`
	openWorkload = `{"api_version":"sandbox/v1","document":"manifest","policy":{},"workloads":{"a":{"backend":"wasm","kind":"k",`
)

// many writes n elements between prefix and suffix.
func many(prefix, suffix string, n int, element func(i string) string) []byte {
	var b strings.Builder
	b.WriteString(prefix)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(element(strconv.Itoa(i)))
	}
	b.WriteString(suffix)
	return []byte(b.String())
}

// A document of the largest size may hold a million mistakes. Telling all of
// them took half a minute, four gigabytes and an error of 278 MB.
func TestWhatIsSaidAboutAHostileDocumentIsBounded(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for name, document := range map[string][]byte{
		"unknown fields of the document":          many(`{"api_version":"sandbox/v1","document":"manifest",`, `}`, n, func(i string) string { return `"f` + i + `":1` }),
		"unknown fields of the policy":            many(openPolicy, closePolicy, n, func(i string) string { return `"f` + i + `":1` }),
		"items of another type":                   many(openPolicy+`"egress_hosts":[`, `],"egress_mode":"allowlist"`+closePolicy, n, func(string) string { return `1` }),
		"hosts that are none":                     many(openPolicy+`"egress_hosts":[`, `],"egress_mode":"allowlist"`+closePolicy, n, func(i string) string { return `"h` + i + `..com"` }),
		"rules that state nothing":                many(openPolicy+`"egress_mode":"allowlist","egress_rules":{`, `}`+closePolicy, n, func(i string) string { return `"r` + i + `":{}` }),
		"workloads that state nothing":            many(`{"api_version":"sandbox/v1","document":"manifest","policy":{},"workloads":{`, `}}`, n, func(i string) string { return `"w` + i + `":{}` }),
		"labels that are reserved":                many(openWorkload+`"labels":{`, `},"requires":[]}}}`, n, func(i string) string { return `"sandbox.` + i + `":"x"` }),
		"numbers that are none":                   many(openPolicy+`"egress_hosts":[`, `]`+closePolicy, n, func(string) string { return `1.5` }),
		"nulls":                                   many(openPolicy+`"egress_hosts":[`, `]`+closePolicy, n, func(string) string { return `null` }),
		"a name without end":                      []byte(openPolicy + `"` + strings.Repeat("a", n) + `":1` + closePolicy),
		"a name stated twice that is without end": []byte(`{"` + strings.Repeat("a", n) + `":1,"` + strings.Repeat("a", n) + `":1}`),
		"a key without end":                       []byte(`{"api_version":"sandbox/v1","document":"manifest","policy":{},"workloads":{"` + strings.Repeat("a", n) + `":{}}}`),
		"a number without end":                    []byte(openPolicy + `"name":` + strings.Repeat("9", n) + closePolicy),
		"a string without end":                    []byte(openPolicy + `"name":"` + strings.Repeat("a", n) + `"` + closePolicy),
		"a version without end":                   []byte(`{"api_version":"` + strings.Repeat("a", n) + `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Parse(document)
			refusals := sandbox.RefusalsOf(err)
			if len(refusals) == 0 || len(refusals) > 100 {
				t.Errorf("%d refusals", len(refusals))
			}
			if text := err.Error(); len(text) > 100_000 {
				t.Errorf("an error of %d bytes: %.200s", len(text), text)
			}
		})
	}
}

func TestDocumentOfManySmallValuesIsTooLarge(t *testing.T) {
	t.Parallel()
	document := many(openPolicy+`"egress_hosts":[`, `]`+closePolicy, 1<<20, func(string) string { return `1` })
	if _, err := manifest.Parse(document); !errors.Is(err, sandbox.CodeDocumentTooLarge) {
		t.Errorf("found %.200v", err)
	}
	document = many(openPolicy+`"egress_hosts":[`, `],"egress_mode":"allowlist"`+closePolicy, 10_000,
		func(i string) string { return `"h` + i + `.example.com"` })
	if _, err := manifest.Parse(document); err != nil {
		t.Errorf("ten thousand hosts: %.200v", err)
	}
}

// Names in a hostile document reach the lines that programs read.
func TestNoNameInADocumentForgesALocator(t *testing.T) {
	t.Parallel()
	const forged = `x\n egress.mode at policy`
	for name, document := range map[string]string{
		"an unknown field": openPolicy + `"` + forged + `":1` + closePolicy,
		"a name twice":     `{"` + forged + `":1,"` + forged + `":1}`,
		"a null":           `{"` + forged + `":null}`,
		"a number":         `{"` + forged + `":1.5}`,
		"broken JSON":      `{"` + forged + `":{"b":nope}}`,
		"a workload":       `{"api_version":"sandbox/v1","document":"manifest","policy":{},"workloads":{"` + forged + `":{}}}`,
		"an output":        openWorkload + `"outputs":{"` + forged + `":{}},"requires":[]}}}`,
		"a word":           openPolicy + `"egress_mode":"` + forged + `"` + closePolicy,
		"a version":        `{"api_version":"` + forged + `"}`,
		"a sort":           `{"api_version":"sandbox/v1","document":"` + forged + `"}`,
		"what follows":     openPolicy + closePolicy + "\n egress.mode at policy",
		"a backend":        `{"api_version":"sandbox/v1","document":"manifest","policy":{},"workloads":{"a":{"backend":"` + forged + `","kind":"` + forged + `","requires":["` + forged + `"]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Parse([]byte(document))
			if len(sandbox.RefusalsOf(err)) == 0 {
				t.Fatalf("found %v", err)
			}
			for _, r := range sandbox.RefusalsOf(err) {
				for _, text := range []string{r.Error(), r.Locator(), r.Found, r.Required, r.Remedy} {
					if strings.ContainsAny(text, "\n\r\u202e") {
						t.Errorf("a line break in %q", text)
					}
				}
			}
		})
	}
}
