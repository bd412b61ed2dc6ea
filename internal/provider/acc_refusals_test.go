package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// mark stands at the end of the line that Terraform must show for a refusal.
const mark = "# here"

// TestAccRefusalsShowTheLineToEdit plans wrong configurations, each one step away
// from one that is admitted, and wants the refusal's locator on a line of its
// own and the marked line of source shown.
func TestAccRefusalsShowTheLineToEdit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, locator string }{
		"a word of the policy": {`
resource "sandbox_policy" "x" {
  minimum_isolation = "micro-vm" # here
}`, "value.unknown_word at minimum_isolation"},
		"a listed word of the policy": {`
resource "sandbox_policy" "x" {
  denied_capabilities = [
    "exec",
    "shell", # here
  ]
}`, "value.unknown_word at denied_capabilities[1]"},
		"a host of the policy": {`
resource "sandbox_policy" "x" {
  egress_mode = "allowlist"
  egress_hosts = [
    "a.example.com",
    "https://b.example.com", # here
  ]
}`, "egress.host_invalid at egress_hosts[1]"},
		"an address that must never be reached": {`
resource "sandbox_policy" "x" {
  never_reaches = [
    "10.0.0.0/8",
    "010.0.0.1", # here
  ]
}`, "egress.address_invalid at never_reaches[1]"},
		"a registry": {`
resource "sandbox_policy" "x" {
  image_registries = ["https://registry.example.com"] # here
}`, "value.invalid_text at image_registries[0]"},
		"a rule with a part that is null": {`
resource "sandbox_policy" "x" {
  egress_mode = "allowlist"
  egress_rules = {
    ok  = { host = "a.example.com", ports = [443], methods = ["GET"], paths = ["*"] }
    api = { host = "b.example.com", ports = [443], methods = null, paths = ["*"] } # here
  }
}`, `egress.rule_incomplete at egress_rules["api"].methods`},
		"a rule with a misspelt part": {`
resource "sandbox_policy" "x" {
  egress_mode = "allowlist"
  egress_rules = {
    api = { host = "b.example.com", ports = [443], method = ["GET"], paths = ["*"] } # here
  }
}`, `egress.rule_incomplete at egress_rules["api"].methods`},
		"a limit that is missing": {`
resource "sandbox_policy" "x" {
  files_out_limits = { max_bytes_per_file = 1, max_total_bytes = 1, max_file = 1 } # here
}`, "value.null at files_out_limits.max_files"},
		"two settings that contradict each other": {`
resource "sandbox_policy" "x" {
  egress_mode  = "closed"
  egress_hosts = ["a.example.com"] # here
}`, "egress.hosts_without_allowlist at egress_hosts"},
		"a backend below the floor": {`
resource "sandbox_workload" "x" {
  policy  = { minimum_isolation = "microvm" }
  backend = "docker" # here
  kind    = "codeact"
}`, "isolation.below_floor at backend"},
		"a backend that nobody ships": {`
resource "sandbox_workload" "x" {
  policy  = { minimum_isolation = "runtime" }
  backend = "wasn" # here
  kind    = "codeact"
}`, "backend.unknown at backend"},
		"facts that are none": {`
resource "sandbox_workload" "x" {
  policy        = { minimum_isolation = "runtime" }
  backend       = "wasm"
  kind          = "codeact"
  backend_facts = "{}" # here
}`, "document.version at backend_facts.api_version"},
		"a capability that the backend lacks": {`
resource "sandbox_workload" "x" {
  policy   = { minimum_isolation = "runtime" }
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code", "exec"] # here
}`, "capability.missing at requires"},
		"egress wider than the policy": {`
resource "sandbox_workload" "x" {
  policy      = { minimum_isolation = "microvm", minimum_evidence = "documented", egress_mode = "allowlist", egress_hosts = ["a.example.com"] }
  backend     = "acas"
  kind        = "codeact"
  egress_mode = "allowlist"
  egress_hosts = [
    "a.example.com",
    "*.example.com", # here
  ]
}`, "egress.not_within_policy at egress_hosts[1]"},
		"an output outside the work directory": {`
resource "sandbox_workload" "x" {
  policy   = { minimum_isolation = "runtime" }
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code", "files_out"]
  outputs = {
    ok  = { path = "a.csv" }
    bad = { path = "../b.csv", name = "b.csv" } # here
  }
}`, `output.name_invalid at outputs["bad"].path`},
		"a reserved label": {`
resource "sandbox_workload" "x" {
  policy   = { minimum_isolation = "runtime" }
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code"]
  labels = {
    team = "a"
    "` + sandbox.ReservedLabelPrefix + `owner" = "me" # here
  }
}`, `value.invalid_text at labels["` + sandbox.ReservedLabelPrefix + `owner"]`},
		"a user that cannot write beside root's files": {`
resource "sandbox_workload" "x" {
  policy   = { minimum_isolation = "microvm", minimum_evidence = "documented" }
  backend  = "acas"
  kind     = "codeact"
  requires = ["exec", "files_out"]
  image    = { prebuilt = "python-3.13", user = "1654" } # here
}`, "image.user_unfit at image.user"},
		"a malformed policy inside a workload": {`
resource "sandbox_workload" "x" {
  policy   = { minimum_isolation = "runtime", egress_mode = "allowlist", egress_hosts = ["a..b"] } # here
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code"]
}`, "egress.host_invalid at policy.egress_hosts[0]"},
		"a workload of a manifest": {`
resource "sandbox_manifest" "x" {
  policy = { minimum_isolation = "runtime" }
  workloads = {
    ok  = { backend = "wasm", kind = "codeact", requires = ["run_code"] }
    bad = { backend = "wasm", kind = "codeact", requires = ["exec"] } # here
  }
}`, `capability.missing at workloads["bad"].requires`},
		"a manifest without workloads": {`
resource "sandbox_manifest" "x" {
  policy    = { minimum_isolation = "runtime" }
  workloads = {} # here
}`, "value.missing at workloads"},
		"a generation": {`
resource "sandbox_manifest" "x" {
  policy     = { minimum_isolation = "runtime" }
  workloads  = { ok = { backend = "wasm", kind = "codeact", requires = ["run_code"] } }
  generation = 0 # here
}`, "value.out_of_range at generation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := newCLI(t, offline(), map[string]string{"main.tf": c.config})
			for _, command := range [][]string{{"validate", "-no-color"}, {"plan", "-no-color", "-input=false"}} {
				out, code := cli.run(t, command...)
				if code != 1 || !strings.Contains(out, "\n "+c.locator+"\n") {
					t.Errorf("%s: exit %d, want the line %q in\n%s", command[0], code, c.locator, out)
				}
				if want := markedLine(c.config); !strings.Contains(out, want) {
					t.Errorf("%s does not show %q:\n%s", command[0], want, out)
				}
			}
		})
	}
}

func markedLine(config string) string {
	for line := range strings.SplitSeq(config, "\n") {
		if strings.HasSuffix(line, mark) {
			return line
		}
	}
	return "no line is marked"
}

// Terraform itself refuses a misspelt name at the root, which is why everything
// that restricts stands there.
func TestAccRootTypoIsTerraformsOwnError(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"policy":   strings.Replace(agentsHCL, "denied_identities", "denied_identity", 1),
		"workload": agentsHCL + strings.Replace(reportHCL, "requires", "require", 1),
		"manifest": agentsHCL + reportHCL + strings.Replace(hostsHCL, "workloads ", "generatoin = 1\n  workloads ", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, code := newCLI(t, offline(), map[string]string{"main.tf": config}).run(t, "validate", "-no-color")
			if code != 1 || !strings.Contains(out, "Unsupported argument") {
				t.Errorf("exit %d\n%s", code, out)
			}
		})
	}
}

// typed is a module whose variable types name only some attributes, so that
// Terraform drops the others without a word.
const typed = requirements + `
variable "policy" { type = TYPE }
resource "sandbox_workload" "report" {
  policy   = var.policy
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code"]
}
output "workload" { value = sandbox_workload.report }
`

func TestAccPolicyThroughAModule(t *testing.T) {
	t.Parallel()
	root := agentsHCL + `
module "team" {
  source = "./team"
  policy = sandbox_policy.agents
}
resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = { report = module.team.workload }
}`
	for name, c := range map[string]struct {
		variable, refused string
	}{
		"with type any": {"any", ""},
		"with a type that drops the denials": {
			"object({ name = string, minimum_isolation = string, egress_mode = string, digest = string })",
			"\n document.attributes_lost at policy\n",
		},
		// Without the digest nothing is noticed here, and nothing is gained: the
		// manifest judges under its own policy.
		"with a type that drops the digest too": {"object({ minimum_isolation = string })", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, code := newCLI(t, offline(), map[string]string{
				"main.tf": root, "team/main.tf": strings.Replace(typed, "TYPE", c.variable, 1),
			}).plan(t)
			if c.refused == "" && code != 2 || c.refused != "" && (code != 1 || !strings.Contains(out, c.refused)) {
				t.Errorf("exit %d, want %q in\n%s", code, c.refused, out)
			}
		})
	}
}

// The attack that the manifest is the gate against: a workload that was given a
// copy of the policy with something taken out.
func TestAccLoosenedCopyIsRefusedByTheManifest(t *testing.T) {
	t.Parallel()
	const attack = `
resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "container"
}
resource "sandbox_workload" "report" {
  policy   = merge(sandbox_policy.agents, { minimum_isolation = "none", digest = null })
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code"]
}
resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = { report = sandbox_workload.report } # here
}`
	out, code := newCLI(t, offline(), map[string]string{"main.tf": attack}).plan(t)
	if code != 1 || !strings.Contains(out, "\n isolation.below_floor at workloads[\"report\"].backend\n") || !strings.Contains(out, markedLine(attack)) {
		t.Errorf("exit %d\n%s", code, out)
	}
	// Keeping the digest gives the copy away at once.
	out, code = newCLI(t, offline(), map[string]string{"main.tf": strings.Replace(attack, ", digest = null", "", 1)}).plan(t)
	if code != 1 || !strings.Contains(out, "\n document.attributes_lost at policy\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestAccTwelveWorkloadsAreOneForEach(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": agentsHCL + `
locals { names = toset([for i in range(12) : "w${i}"]) }
resource "sandbox_workload" "all" {
  for_each = local.names
  policy   = sandbox_policy.agents
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code"]
}
resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = sandbox_workload.all
}`})
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color", "-input=false"); code != 0 {
		t.Fatal(out)
	}
	if out, code := c.plan(t); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// Warnings of equal text would be folded into one, and whose they are be lost.
func TestAccEveryWorkloadsWarningIsShown(t *testing.T) {
	t.Parallel()
	out, code := newCLI(t, offline(), map[string]string{"main.tf": `
resource "sandbox_workload" "x" {
  for_each = { a = "codeact", b = "bicep", c = "shell" }
  policy   = { minimum_evidence = "documented" }
  backend  = "acas"
  kind     = each.value
}`}).plan(t)
	if code != 2 || strings.Contains(out, "similar warning") || strings.Count(out, "\n egress.guarantee_missing at egress_mode\n") != 3 {
		t.Errorf("exit %d\n%s", code, out)
	}
	if !strings.Contains(squeeze(out), `+ findings = [ + "egress.guarantee_missing at egress_mode: `) {
		t.Errorf("the finding is not in the plan:\n%s", out)
	}
}

func TestAccPolicyIsDecidedForRealUnderMocks(t *testing.T) {
	t.Parallel()
	const run = `
mock_provider "sandbox" {}
run "admitted" {
  assert {
    condition     = sandbox_workload.report.kind == "codeact"
    error_message = "the workload is not the one that was written"
  }
}
`
	whole := agentsHCL + reportHCL + hostsHCL
	out, code := newCLI(t, offline(), map[string]string{"main.tf": whole, "main.tftest.hcl": run}).run(t, "test", "-no-color")
	if code != 0 {
		t.Errorf("what is admitted fails under mocks:\n%s", out)
	}
	refused := strings.Replace(whole, `"runtime"`, `"microvm"`, 1)
	out, code = newCLI(t, offline(), map[string]string{"main.tf": refused, "main.tftest.hcl": run}).run(t, "test", "-no-color")
	if code == 0 || !strings.Contains(out, "\n isolation.below_floor at backend\n") {
		t.Errorf("what is refused passes under mocks: exit %d\n%s", code, out)
	}
}

func TestAccImposedPolicyMustBeTheSameForPlanAndApply(t *testing.T) {
	t.Parallel()
	document := func(p sandbox.Policy) string {
		b, _ := policyDocument(t, p)
		return string(b)
	}
	file := filepath.Join(t.TempDir(), "platform.json")
	p := platform(map[string]string{envPolicyFile: file}, nil)
	p.readFile = os.ReadFile
	c := newCLI(t, p, map[string]string{"main.tf": agentsHCL + reportHCL + hostsHCL})
	// A real command starts a provider of its own, which knows nothing of the one
	// before.
	run := func(args ...string) (string, int) {
		c.serve(t, p)
		return c.run(t, append(args, "-no-color", "-input=false")...)
	}

	impose := func(p sandbox.Policy) {
		if err := os.WriteFile(file, []byte(document(p)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	impose(sandbox.Policy{Name: "platform", MinimumIsolation: sandbox.IsolationRuntime})
	if out, code := run("plan", "-out=plan"); code != 0 || !strings.Contains(squeeze(out), `+ host_policy = { + minimum_isolation = "runtime"`) {
		t.Fatalf("exit %d\n%s", code, out)
	}
	impose(sandbox.Policy{Name: "platform", MinimumIsolation: sandbox.IsolationMicroVM})
	c.serve(t, p)
	if out, code := c.run(t, "apply", "-no-color", "-input=false", "plan"); code == 0 {
		t.Errorf("the plan was applied under another policy:\n%s", out)
	}
	if out, _ := c.run(t, "state", "list"); strings.Contains(out, "sandbox_manifest") {
		t.Errorf("a manifest was applied:\n%s", out)
	}
	impose(sandbox.Policy{Name: "platform", MinimumIsolation: sandbox.IsolationRuntime})
	if out, code := run("apply", "-auto-approve"); code != 0 {
		t.Errorf("the policy that was planned under is not accepted any more:\n%s", out)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	out, code := run("plan")
	if code != 1 || !strings.Contains(out, "\n platform_policy.unreadable\n") || strings.Contains(out, "Error: Invalid provider configuration") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
