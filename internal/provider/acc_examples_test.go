package provider

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// exampleFiles are the Terraform files of an example and what stands beside them. The
// test says in full where the provider comes from.
func exampleFiles(t *testing.T, folder string, edits ...string) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..", "examples", filepath.FromSlash(folder))
	edit := strings.NewReplacer(append([]string{`"sandbox-iac/sandbox"`, `"` + address + `"`}, edits...)...)
	files := map[string]string{"requirements.tf": ""}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || (ext != ".tf" && ext != ".json") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		files[filepath.ToSlash(name)] = string(content)
		if filepath.Ext(path) == ".tf" {
			files[filepath.ToSlash(name)] = edit.Replace(string(content))
		}
		return err
	})
	if err != nil || files["main.tf"] == "" {
		t.Fatalf("the example %s: %v", folder, err)
	}
	return files
}

// reads lets a provider read an example's files, as one that Terraform starts in the
// example's folder does, and whatever else it could read before.
func reads(p *sandboxProvider, files map[string]string) *sandboxProvider {
	before := p.readFile
	p.readFile = func(name string) ([]byte, error) {
		if content, ok := files[name]; ok {
			return []byte(content), nil
		}
		return before(name)
	}
	return p
}

// inner is what stands inside the provider block that names the world.
func (w *world) inner() string {
	return strings.TrimSuffix(strings.TrimPrefix(w.block, "provider \"sandbox\" {\n"), "}\n")
}

// One block is all that differs between a file and the service: its emulator takes its
// time over everything, behind TLS.
func TestAccExamplesApplyWhereverTheBlockSays(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"azure-team", "guardrails", "ci"} {
		for name, newWorld := range map[string]func(*testing.T) *world{"embedded": embeddedWorld, "acas": servedWorld} {
			t.Run(folder+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				files := exampleFiles(t, folder, "  embedded {}\n", w.inner())
				c := newCLI(t, reads(w.provider, files), files)
				c.apply(t)
				c.empty(t)
			})
		}
	}
}

// The page says what the first plan ends with, and the host's own test opens what the
// apply printed.
func TestAccTheTeamsDigestIsKnownInTheFirstPlan(t *testing.T) {
	t.Parallel()
	w := embeddedWorld(t)
	c := newCLI(t, w.provider, exampleFiles(t, "azure-team", "  embedded {}\n", w.inner()))
	out, code := c.plan(t)
	if code != 2 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if _, err := os.Stat(w.file); err == nil {
		t.Error("a plan wrote the state file")
	}
	host := filepath.Join("..", "..", "examples", "azure-team", "host", "testdata", "manifest.json")
	document, err := os.ReadFile(host)
	if err != nil {
		t.Fatal(err)
	}
	c.apply(t)
	if printed, _ := c.run(t, "output", "-raw", "manifest"); printed != string(document) {
		t.Errorf("the apply prints\n%s\nand %s is\n%s", printed, host, document)
	}
	_, outputs, _ := strings.Cut(out, "Changes to Outputs:")
	digest := string(manifest.DigestOf(document))
	if !strings.Contains(outputs, digest) {
		t.Errorf("the plan does not end with %s:%s", digest, outputs)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "examples", "azure-team", "README.md"))
	if err != nil || !strings.Contains(string(page), digest) {
		t.Errorf("the page does not have %s: %v", digest, err)
	}
}

// tells wants an example's page to have what Terraform printed from the words on, line
// by line.
func tells(t *testing.T, folder, out, from string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "examples", folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(out, from)
	if !found {
		t.Fatalf("no %q in\n%s", from, out)
	}
	printed, _, _ := strings.Cut(from+after, "\n\nError: ")
	if !strings.Contains(string(page), "\n"+strings.TrimSpace(printed)+"\n") {
		t.Errorf("the page of %s does not have\n%s", folder, printed)
	}
}
