package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every example of the documentation is a configuration that plans.
func TestAccEveryResourceExamplePlans(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "resources", "*", "resource.tf"))
	if err != nil || len(files) < 3 {
		t.Fatalf("examples %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := newCLI(t, offline(), map[string]string{"main.tf": string(content)})
			if out, code := c.run(t, "fmt", "-check", "-diff"); code != 0 {
				t.Errorf("not formatted:\n%s", out)
			}
			if out, code := c.plan(t); code != 2 {
				t.Errorf("exit %d\n%s", code, out)
			}
		})
	}
}

func TestAccProviderExampleIsValid(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "examples", "provider", "provider.tf"))
	if err != nil {
		t.Fatal(err)
	}
	// The test's own requirements stand in for the example's.
	_, block, found := strings.Cut(string(content), "provider \"sandbox\"")
	if !found {
		t.Fatal("the example configures no provider")
	}
	c := newCLI(t, offline(), map[string]string{"main.tf": "provider \"sandbox\"" + block})
	if out, code := c.run(t, "validate", "-no-color"); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
	if out, code := c.run(t, "fmt", "-check", "-diff"); code != 0 {
		t.Errorf("not formatted:\n%s", out)
	}
}
