package hclsource_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
)

const required = `terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}
`

// tree writes files and loads the module in root.
func tree(t *testing.T, files map[string]string) (*hclsource.Config, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return hclsource.Load(filepath.Join(dir, "root"))
}

// dropped lists what is found, as "file:line path".
func dropped(t *testing.T, files map[string]string) []string {
	t.Helper()
	files["root/versions.tf"] = required
	config, err := tree(t, files)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range config.Dropped() {
		if d.Address == "" || d.Finding.Found == "" || d.Finding.Required == "" || d.Finding.Remedy == "" {
			t.Errorf("incomplete: %+v", d)
		}
		found = append(found, d.File+":"+strconv.Itoa(d.Line)+" "+d.Finding.Path.String())
	}
	return found
}

func TestADroppedNameIsFoundAtEveryLevel(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			with := func(word string) map[string]string {
				files := map[string]string{}
				for name, content := range p.files {
					files[name] = strings.ReplaceAll(content, "TYPO", word)
				}
				return files
			}
			if got := dropped(t, with(p.typo)); !slices.Equal(got, p.want) {
				t.Errorf("found %q, want %q", got, p.want)
			}
			if got := dropped(t, with(p.right)); len(got) != 0 {
				t.Errorf("spelt %s, found %q", p.right, got)
			}
		})
	}
}

func TestAVariableThatDropsARestrictionIsFound(t *testing.T) {
	t.Parallel()
	files := func(constraint string) map[string]string {
		return map[string]string{
			"root/main.tf": `
locals { strict = { minimum_isolation = "vm", denied_identities = ["app"] } }
module "m" {
  source = "../child"
  policy = merge(local.strict, { egress_mode = "closed" })
}`,
			"child/main.tf": "variable \"policy\" {\n  type = " + constraint + "\n}\n" +
				`resource "sandbox_workload" "w" { policy = var.policy }`,
		}
	}
	got := dropped(t, files(`object({ minimum_isolation = string, egress_mode = optional(string) })`))
	if want := []string{"main.tf:2 policy.denied_identities"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	for _, constraint := range []string{
		"any", `object({ minimum_isolation = string, egress_mode = string, denied_identities = list(string) })`,
	} {
		if got := dropped(t, files(constraint)); len(got) != 0 {
			t.Errorf("%s: found %q", constraint, got)
		}
	}
}

func TestAComputedNameInARestrictedObjectIsFound(t *testing.T) {
	t.Parallel()
	files := func(key string) map[string]string {
		return map[string]string{"root/main.tf": `
locals { name = "host" }
resource "sandbox_policy" "p" { egress_rules = { api = { ` + key + ` = "a.example.com" } } }`}
	}
	if got := dropped(t, files("(local.name)")); len(got) != 1 {
		t.Errorf("found %q", got)
	}
	if got := dropped(t, files("host")); len(got) != 0 {
		t.Errorf("found %q", got)
	}
}

func TestTracingEndsOnHostileConfigurations(t *testing.T) {
	t.Parallel()
	var doubling strings.Builder
	doubling.WriteString("locals {\n  l0 = { typo = 1 }\n")
	for i := range 60 {
		n, m := strconv.Itoa(i+1), strconv.Itoa(i)
		doubling.WriteString("  l" + n + " = merge(local.l" + m + ", local.l" + m + ")\n")
	}
	doubling.WriteString("}\nresource \"sandbox_workload\" \"w\" { policy = local.l60 }\n")
	for name, source := range map[string]string{
		"a local of itself":     "locals { a = local.a }\nresource \"sandbox_workload\" \"w\" { policy = local.a }",
		"two of each other":     "locals {\n a = local.b\n b = local.a\n}\nresource \"sandbox_workload\" \"w\" { policy = local.a }",
		"deeper each time":      "locals { a = local.a.b }\nresource \"sandbox_workload\" \"w\" { policy = local.a.c }",
		"a loop over itself":    "locals { a = { for k, v in local.a : k => v } }\nresource \"sandbox_policy\" \"w\" { egress_rules = local.a }",
		"doubling sixty times":  doubling.String(),
		"a module by itself":    "module \"m\" {\n source = \"../root\"\n p = var.p\n}\nvariable \"p\" {}\nresource \"sandbox_workload\" \"w\" { policy = var.p }",
		"nothing but a bracket": "resource \"sandbox_workload\" \"w\" { policy = (((({})))) }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dropped(t, map[string]string{"root/main.tf": source})
		})
	}
}

// Whatever a configuration says, reading it ends, and says something complete.
func FuzzDroppedEnds(f *testing.F) {
	for _, p := range places {
		for _, content := range p.files {
			f.Add(strings.ReplaceAll(content, "TYPO", p.typo))
		}
	}
	f.Fuzz(func(t *testing.T, source string) {
		config, err := tree(t, map[string]string{"root/main.tf": source})
		if err != nil {
			return
		}
		config.Remote()
		for _, d := range config.Dropped() {
			if d.File == "" || d.Line < 1 || d.Finding.Code == "" || d.Finding.Found == "" {
				t.Errorf("incomplete: %+v", d)
			}
		}
	})
}

// A manifest takes up objects that are written elsewhere, in its own module.
func TestABlockIsFoundByTheOneThatNamesIt(t *testing.T) {
	t.Parallel()
	config, err := tree(t, map[string]string{
		"root/a.tf": required + `module "m" { source = "../child" }`,
		"child/a.tf": `
resource "sandbox_policy" "p" {}
resource "sandbox_workload" "w" { for_each = { a = 1 } }
resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.p
  workloads = { one = sandbox_workload.w["a"], all = merge({}, sandbox_workload.w), gone = sandbox_workload.gone }
}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"policy": "module.m.sandbox_policy.p", `workloads["one"]`: "module.m.sandbox_workload.w",
		`workloads["all"]`: "", `workloads["gone"]`: "", `workloads["other"]`: "", "other": "", "": "",
	} {
		if got, ok := config.Referred("module.m.sandbox_manifest.hosts", path); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v, want %q", path, got, ok, want)
		}
	}
	if got, ok := config.Referred("sandbox_manifest.hosts", "policy"); ok {
		t.Errorf("of a block that is not there: %q", got)
	}
}
