package provider

import (
	"io/fs"
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
			// It states its requirements itself, as whoever copies it needs them.
			c := newCLI(t, offline(), map[string]string{"requirements.tf": string(content)})
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

// The quickstart applies one example and shows three that are refused; a
// newcomer meets exactly these.
func TestAccQuickstartPlansAndIsRefusedWhereItSaysSo(t *testing.T) {
	t.Parallel()
	for folder, locator := range map[string]string{
		".":                  "",
		"refused/floor":      "isolation.below_floor at backend",
		"refused/egress":     "egress.not_within_policy at egress_hosts[1]",
		"refused/capability": "capability.missing at requires",
	} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			found, err := filepath.Glob(filepath.Join("..", "..", "examples", "quickstart", filepath.FromSlash(folder), "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range found {
				if ext := filepath.Ext(file); ext != ".tf" && ext != ".json" {
					continue
				}
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				files[filepath.Base(file)] = string(content)
			}
			// The examples say themselves where the provider comes from; the test
			// says the same in full.
			files["requirements.tf"] = ""
			files["main.tf"] = strings.Replace(files["main.tf"], "sandbox-iac/sandbox", address, 1)
			p := offline()
			p.readFile = func(name string) ([]byte, error) {
				if content, ok := files[name]; ok {
					return []byte(content), nil
				}
				return nil, fs.ErrNotExist
			}
			out, code := newCLI(t, p, files).plan(t)
			switch {
			case locator == "" && code != 2:
				t.Errorf("exit %d\n%s", code, out)
			case locator != "" && (code != 1 || !strings.Contains(out, "\n "+locator+"\n")):
				t.Errorf("exit %d, without %q\n%s", code, locator, out)
			}
		})
	}
}
