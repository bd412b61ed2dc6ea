package provider

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// The path of a platformPolicy may stand in the configuration that is planned: none
// may hold up the plan or fill its memory.
func TestPlatformPolicyIsReadFromARegularFileOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	document, _ := policyDocument(t, sandbox.Policy{MinimumIsolation: sandbox.IsolationRuntime})
	write := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := write("whole.json", document)
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(whole, link); err != nil && runtime.GOOS == "windows" {
		t.Skip("no right to make links:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(dir, "dangling.json")
	if err := os.Symlink(filepath.Join(dir, "gone"), dangling); err != nil {
		t.Fatal(err)
	}
	large := write("large.json", nil)
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"a file":                       {whole, ""},
		"a link to one":                {link, ""},
		"nothing":                      {filepath.Join(dir, "gone"), "no such file"},
		"a link to nothing":            {dangling, "no such file"},
		"a directory":                  {dir, "not a regular file"},
		"a device":                     {os.DevNull, "not a regular file"},
		"a file of a terabyte":         {large, "larger than"},
		"an empty file":                {write("empty.json", nil), "the end of the bytes"},
		"a file that is cut off":       {write("cut.json", document[:len(document)-1]), "ends in the middle"},
		"a line break after it":        {write("newline.json", append(slices.Clip(document), '\n')), "white space after the document"},
		"a manifest in its place":      {write("manifest.json", []byte(`{"api_version":"sandbox/v1","document":"manifest"}`)), "policy"},
		"a name with a line break":     {filepath.Join(dir, "x\n egress.mode at backend"), "no such file"},
		"a name with a NUL":            {filepath.Join(dir, "x\x00y"), "invalid argument"},
		"a name longer than any other": {filepath.Join(dir, strings.Repeat("x", 5000)), "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := readPlatformPolicy([]policySource{{file: c.path, fileName: "policy_file", digestName: "policy_digest"}}, readPolicyFile)
			if c.want == "" {
				if len(g.findings) > 0 || g.policy == nil {
					t.Errorf("found %v", g.findings)
				}
				return
			}
			if len(g.findings) == 0 || g.policy != nil {
				t.Fatalf("imposed %v", g.policy)
			}
			text := detail(g.findings[0])
			if !strings.Contains(text, c.want) {
				t.Errorf("%q does not say %q", text, c.want)
			}
			if strings.Contains(text, "\n egress.mode at backend") {
				t.Errorf("a forged locator in %q", text)
			}
		})
	}
	if manifest.MaxDocument > 1<<30 {
		t.Error("the bound on documents no longer bounds a file")
	}
}
