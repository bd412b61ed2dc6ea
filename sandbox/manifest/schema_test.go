package manifest

import (
	"os"
	"path/filepath"
	"testing"
)

// Terraform runs the provider in the user's own directory, whatever its name.
func TestSchemaCompilesInAnyWorkingDirectory(t *testing.T) {
	for _, name := range []string{"plain", "a b", "100%", "%zz", "a#b", "a?b", "a:b", "é", "[x]", `a\b`, "a\nb"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Logf("no directory %q here: %v", name, err)
			continue
		}
		t.Chdir(dir)
		if _, err := compileSchemas(); err != nil {
			t.Errorf("in %q: %v", name, err)
		}
	}
	gone := t.TempDir()
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Skip(err)
	}
	if _, err := compileSchemas(); err != nil {
		t.Errorf("in a directory that is gone: %v", err)
	}
}
