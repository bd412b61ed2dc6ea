package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
)

// built is the provider of this checkout, built once for all tests.
var built struct {
	once      sync.Once
	dir, path string
	err       error
}

// provider returns the built provider, or skips where there is no Terraform to
// plan with. In CI that is a failure: there the test must run.
func provider(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		if _, err := exec.LookPath("tofu"); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal("neither terraform nor tofu is on PATH")
			}
			t.Skip("neither terraform nor tofu is on PATH")
		}
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "provider-for-cli-test-"); built.err != nil { //nolint:usetesting // shared by all tests
			return
		}
		built.path = filepath.Join(built.dir, "terraform-provider-sandbox")
		if runtime.GOOS == "windows" {
			built.path += ".exe"
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "go", "build", "-o", built.path, "../..")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = err
			built.path = string(out)
		}
	})
	if built.err != nil {
		t.Fatalf("build the provider: %v\n%s", built.err, built.path)
	}
	return built.path
}

const versions = `terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox", version = "~> 99.0" }
  }
  backend "s3" {
    bucket = "nobody-has-it"
  }
}
`

const agents = `
resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "microvm"
  minimum_evidence  = "documented"
  egress_mode       = "allowlist"
  egress_hosts      = ["packages.example.org"]
}
`

const rest = `
resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = { report = sandbox_workload.report }
}
`

func workload(attributes string) string {
	return `
resource "sandbox_workload" "report" {
  policy   = sandbox_policy.agents
  backend  = "acas"
  kind     = "codeact"
  ` + attributes + `
}
`
}

// directory writes a configuration and returns its root.
func directory(t *testing.T, files map[string]string) string {
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
	return filepath.Join(dir, "root")
}

func checkDirectory(t *testing.T, root string, args ...string) result {
	t.Helper()
	// What would lead Terraform elsewhere is set here on purpose.
	environ := append(os.Environ(), "TF_DATA_DIR=/nonexistent/data", "TF_WORKSPACE=elsewhere", "TF_CLI_ARGS_plan=-destroy", "TF_CLI_CONFIG_FILE=/dev/null")
	return invocation{environ: environ}.run(t, append([]string{"check", root, "--provider", provider(t)}, args...)...)
}

func TestCheckOfADirectory(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		files map[string]string
		args  []string
		code  int
		says  []string
	}{
		"allowed": {
			map[string]string{"root/main.tf": versions + agents + workload("") + rest},
			nil, cli.ExitAllowed,
			[]string{"1 workload, 1 policy, backend acas (shipped facts)\n"},
		},
		"refused in the plan": {
			map[string]string{"root/main.tf": versions + agents + workload(`egress_mode = "allowlist"
  egress_hosts = ["*.example.com"]`) + rest},
			nil, cli.ExitRefused,
			[]string{"refused  report  egress.not_within_policy  egress_hosts[0]  evil.example.com:443 would become reachable\n", "main.tf line 23\n egress.not_within_policy at egress_hosts[0]\n"},
		},
		"refused in validate": {
			map[string]string{"root/main.tf": versions + agents + workload(`egress_hosts = ["https://x"]`) + rest},
			nil, cli.ExitRefused,
			[]string{" egress.host_invalid at egress_hosts[0]\n"},
		},
		"a dropped name": {
			map[string]string{"root/main.tf": versions + agents + workload(`egress_mode = "allowlist"
  egress_rules = { a = { host = "packages.example.org", ports = ["*"], methods = ["*"], paths = ["*"], method = ["GET"] } }`) + rest},
			nil, cli.ExitRefused,
			[]string{`value.unknown_name  egress_rules["a"].method`, "main.tf line 23\n value.unknown_name at egress_rules[\"a\"].method\n", "\n1 refused\n"},
		},
		"a dropped name in a policy": {
			map[string]string{"root/main.tf": versions + strings.Replace(agents, "egress_mode ", "files_out_limits = { max_bytes_per_file = 33554432, max_total_bytes = 33554432, max_files = 64, max_file = 2 }\n  egress_mode ", 1) + workload("requires = []") + rest},
			nil, cli.ExitRefused,
			[]string{" value.unknown_name at files_out_limits.max_file\n", "\nrefused, whatever its workloads: 1 allowed\n"},
		},
		"a module beside the root": {
			map[string]string{
				"root/main.tf":     versions + agents + "module \"w\" {\n  source = \"../child\"\n  policy = sandbox_policy.agents\n}\n",
				"child/main.tf":    strings.Split(versions, "  backend")[0] + "}\nvariable \"policy\" { type = any }\n" + strings.Replace(workload("backend_facts = file(\"${path.module}/facts.json\")"), "sandbox_policy.agents", "var.policy", 1),
				"child/facts.json": `{"api_version":"sandbox/v1","document":"backend","backend":"acas","isolation":"runtime","isolation_evidence":{"kind":"probed"},"egress_modes":["closed"]}`,
			},
			nil, cli.ExitRefused,
			[]string{"module.w.report", "../child/main.tf line ", " isolation.below_floor at backend\n"},
		},
		"variables": {
			map[string]string{
				"root/main.tf": versions + agents + "variable \"kind\" { type = string }\nvariable \"dir\" { type = string }\n" +
					strings.Replace(workload("work_dir = var.dir"), `"codeact"`, "var.kind", 1) + rest,
				"root/x.auto.tfvars": `dir = "/work"`,
			},
			[]string{"--var", "kind=codeact"},
			cli.ExitAllowed,
			[]string{"1 workload, "},
		},
		"a variable without a value": {
			map[string]string{"root/main.tf": versions + agents + "variable \"kind\" { type = string }\n" + strings.Replace(workload(""), `"codeact"`, "var.kind", 1) + rest},
			nil, cli.ExitBadInput,
			[]string{"no answer: ", "No value for required variable"},
		},
		"no workload": {
			map[string]string{"root/main.tf": versions + agents}, nil, cli.ExitBadInput, []string{"0 workloads", "no workload behind"},
		},
		"an object that needs a cloud": {
			map[string]string{"root/main.tf": versions + agents + workload("") + "resource \"azurerm_resource_group\" \"g\" {}\n"},
			nil, cli.ExitBadInput,
			[]string{`azurerm_resource_group.g at main.tf:24 is an object of provider "azurerm"`},
		},
		"not yet known": {
			map[string]string{"root/main.tf": versions + agents + "resource \"terraform_data\" \"host\" { input = \"packages.example.org\" }\n" +
				workload("egress_mode = \"allowlist\"\n  egress_hosts = [terraform_data.host.output]") + rest},
			nil, cli.ExitBadInput,
			[]string{"undecided  report  decision.undecided        egress_hosts[0]  egress_hosts[0] is not known yet\n"},
		},
		"not Terraform": {
			map[string]string{"root/main.tf": "resource {"}, nil, cli.ExitBadInput, []string{"main.tf:1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := directory(t, row.files)
			before := listing(t, filepath.Dir(root))
			got := checkDirectory(t, root, row.args...)
			if got.code != row.code {
				t.Errorf("exit code %d, want %d\n%s", got.code, row.code, got.both())
			}
			for _, want := range row.says {
				if !strings.Contains(got.both(), want) {
					t.Errorf("no %q in\n%s", want, got.both())
				}
			}
			if after := listing(t, filepath.Dir(root)); !slices.Equal(before, after) {
				t.Errorf("the directory changed from %q to %q", before, after)
			}
		})
	}
}

func listing(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// A policy file that the runner imposes is judged by the provider, wherever the
// copy is.
func TestAnImposedPolicyReachesTheCopy(t *testing.T) {
	t.Parallel()
	root := directory(t, map[string]string{"root/main.tf": versions + agents + workload("") + rest})
	policy := invocation{stdin: `{"api_version":"sandbox/v1","document":"policy","policy":{"minimum_isolation":"vm"}}`}.run(t, "canonical", "-")
	file := write(t, "platform.json", []byte(policy.stdout))
	digest := strings.TrimSpace(run(t, "digest", file).stdout)
	environ := append(os.Environ(), "SANDBOX_POLICY_FILE="+file, "SANDBOX_POLICY_DIGEST="+digest)
	got := invocation{environ: environ}.run(t, "check", root, "--provider", provider(t))
	if got.code != cli.ExitRefused || !strings.Contains(got.stdout, "platform policy (vm)") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
}

func TestTerraformThatIsNotThereIsBadInput(t *testing.T) {
	t.Parallel()
	root := directory(t, map[string]string{"root/main.tf": versions + agents + workload("")})
	for _, args := range [][]string{
		{"check", root, "--terraform", "/nonexistent/terraform"},
		{"check", root, "--provider", filepath.Join(root, "gone")},
	} {
		if got := (invocation{environ: os.Environ()}).run(t, args...); got.code != cli.ExitBadInput {
			t.Errorf("%q: exit code %d\n%s", args, got.code, got.both())
		}
	}
}

// The names that are looked for in sources are those that the provider has.
func TestSourcesAreReadWithTheProvidersOwnNames(t *testing.T) {
	t.Parallel()
	schema := providerSchema(t)
	root := directory(t, map[string]string{"root/main.tf": versions + agents + workload("")})
	for kind, block := range schema {
		for name, nested := range block {
			for inner := range nested {
				typo := inner + "_x"
				source := versions + "resource " + `"` + kind + `" "x" {` + "\n  " + name + " = " + nestedLiteral(name, typo) + "\n}\n"
				if err := os.WriteFile(filepath.Join(root, "main.tf"), []byte(source), 0o600); err != nil {
					t.Fatal(err)
				}
				right := strings.Replace(source, typo, inner, 1)
				if found := unknownNames(t, root); !slices.Contains(found, typo) {
					t.Errorf("%s.%s.%s: found %q", kind, name, typo, found)
				}
				if err := os.WriteFile(filepath.Join(root, "main.tf"), []byte(right), 0o600); err != nil {
					t.Fatal(err)
				}
				if found := unknownNames(t, root); len(found) != 0 {
					t.Errorf("%s.%s.%s: the provider has it, and sources refuse %q", kind, name, inner, found)
				}
			}
		}
	}
}

// nestedLiteral is an object, or a map of one, with one name in it.
func nestedLiteral(name, inner string) string {
	switch name {
	case "egress_rules", "outputs", "workloads":
		return "{ a = { " + inner + " = null } }"
	default:
		return "{ " + inner + " = null }"
	}
}

// providerSchema is the names of the provider's nested attributes, by resource.
func providerSchema(t *testing.T) map[string]map[string]map[string]bool {
	t.Helper()
	binary := provider(t)
	dir := directory(t, map[string]string{
		"root/main.tf": strings.Split(versions, "  backend")[0] + "}\n",
		"rc":           "provider_installation {\n  dev_overrides {\n    \"sandbox-iac/sandbox\" = " + quote(filepath.Dir(binary)) + "\n  }\n}\n",
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	terraform := "terraform"
	if _, err := exec.LookPath(terraform); err != nil {
		terraform = "tofu"
	}
	cmd := exec.CommandContext(ctx, terraform, "providers", "schema", "-json")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "..", "rc"), "CHECKPOINT_DISABLE=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("providers schema: %v\n%s", err, out)
	}
	type attribute struct {
		Nested *struct {
			Attributes map[string]json.RawMessage `json:"attributes"`
		} `json:"nested_type"`
	}
	var schemas struct {
		Providers map[string]struct {
			Resources map[string]struct {
				Block struct {
					Attributes map[string]attribute `json:"attributes"`
				} `json:"block"`
			} `json:"resource_schemas"`
		} `json:"provider_schemas"`
	}
	if err := json.Unmarshal(out, &schemas); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]map[string]bool{}
	for _, p := range schemas.Providers {
		for kind, r := range p.Resources {
			if !slices.Contains([]string{"sandbox_policy", "sandbox_workload", "sandbox_manifest"}, kind) {
				continue
			}
			all[kind] = map[string]map[string]bool{}
			for name, a := range r.Block.Attributes {
				if a.Nested == nil {
					continue
				}
				all[kind][name] = map[string]bool{}
				for inner := range a.Nested.Attributes {
					all[kind][name][inner] = true
				}
			}
		}
	}
	if len(all) != 3 {
		t.Fatalf("the schema has %d of our resources", len(all))
	}
	return all
}
