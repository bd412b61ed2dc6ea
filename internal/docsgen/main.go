// Command docsgen writes the pages of the documentation that are made from the
// code: the decision with its order, and every code with its meaning. Prose
// stands in the templates beside this file, facts come from packages sandbox and
// internal/policy, so the pages cannot say less than the code does.
//
// Usage: docsgen DIR, where DIR receives the pages; tfplugindocs copies them
// into docs/.
package main

//go:generate go run . ../../templates/guides

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

//go:embed *.md.tmpl
var pages embed.FS

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docsgen DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "docsgen:", err)
		os.Exit(1)
	}
}

// facts is what the templates may say about the code.
type facts struct {
	Checks []string
	Codes  []sandbox.Code
	// Words are the vocabularies that a reader looks up here.
	Words []vocabulary
}

type vocabulary struct {
	Name  string
	Words []string
}

func gather() facts {
	return facts{
		Checks: policy.CheckNames(),
		Codes:  sandbox.Codes(),
		Words: []vocabulary{
			{"Isolation rungs, weakest first", texts(sandbox.Isolations())},
			{"Capabilities", texts(sandbox.Capabilities())},
			{"Egress modes, narrowest first", texts(sandbox.EgressModes())},
			{"Egress guarantees", texts(sandbox.Guarantees())},
			{"Evidence, weakest first", texts(sandbox.EvidenceKinds())},
			{"Isolation scopes, widest sharing first", texts(sandbox.IsolationScopes())},
		},
	}
}

func texts[T fmt.Stringer](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "`" + w.String() + "`"
	}
	return out
}

func write(dir string) error {
	set, err := template.New("").Funcs(template.FuncMap{
		"join":  func(words []string) string { return strings.Join(words, ", ") },
		"place": func(i int) int { return i + 1 },
	}).ParseFS(pages, "*.md.tmpl")
	if err != nil {
		return fmt.Errorf("parsing the templates: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a generator writes where its caller says
		return fmt.Errorf("making the folder of the pages: %w", err)
	}
	for _, page := range set.Templates() {
		name, ok := strings.CutSuffix(page.Name(), ".tmpl")
		if !ok {
			continue
		}
		var b bytes.Buffer
		if err := page.Execute(&b, gather()); err != nil {
			return fmt.Errorf("writing page %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil { //nolint:gosec // as above
			return fmt.Errorf("writing page %s: %w", name, err)
		}
	}
	return nil
}
