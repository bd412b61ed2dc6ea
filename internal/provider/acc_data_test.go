package provider

import (
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// checkHCL asks about a workload and says what a deny means: a failed
// precondition stops a plan, a check warns.
const checkHCL = `
data "sandbox_capability_check" "report" {
  policy   = { minimum_isolation = "microvm" }
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code"]
}
`

func TestAccCapabilityCheckWarnsInACheckBlock(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": checkHCL + `
check "fits" {
  assert {
    condition     = data.sandbox_capability_check.report.allowed
    error_message = join(" ", data.sandbox_capability_check.report.findings[*].code)
  }
}
`})
	out, code := c.run(t, "plan", "-no-color", "-input=false")
	if code != 0 || !strings.Contains(out, "Check block assertion failed") || !strings.Contains(out, "isolation.below_floor") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestAccCapabilityCheckStopsAPlanInAPrecondition(t *testing.T) {
	t.Parallel()
	config := checkHCL + `
output "backend" {
  value = data.sandbox_capability_check.report.backend
  precondition {
    condition     = data.sandbox_capability_check.report.allowed
    error_message = join(" ", data.sandbox_capability_check.report.findings[*].code)
  }
}
`
	c := newCLI(t, offline(), map[string]string{"main.tf": config})
	if out, code := c.plan(t); code != 1 || !strings.Contains(out, "isolation.below_floor") {
		t.Errorf("exit %d\n%s", code, out)
	}
	c.write(t, map[string]string{"main.tf": strings.Replace(config, `"microvm"`, `"runtime"`, 1)})
	if out, code := c.plan(t); code != 2 {
		t.Errorf("the allowed neighbour: exit %d\n%s", code, out)
	}
}

// What cannot be read is an error at its line.
func TestAccCapabilityCheckRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": strings.Replace(checkHCL, `"run_code"`, `"run_cod"`, 1)})
	out, code := c.run(t, "validate", "-no-color")
	if code != 1 || !strings.Contains(out, "main.tf line 6") || !strings.Contains(out, " value.unknown_word at requires[0]") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestAccCapabilityCheckOverAChangingResourceIsReadDuringApply(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": agentsHCL + `
data "sandbox_capability_check" "report" {
  policy   = sandbox_policy.agents
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code"]
}
output "verdict" { value = data.sandbox_capability_check.report.verdict }
output "earlier" { value = provider::sandbox::check(sandbox_policy.agents, { backend = "wasm", kind = "codeact", requires = ["run_code"] }).verdict }
`})
	out, code := c.plan(t)
	if code != 2 || !strings.Contains(out, "+ verdict = (known after apply)") || !strings.Contains(out, `+ earlier = "allow"`) {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color"); code != 0 || !strings.Contains(out, `verdict = "allow"`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	if out, code := c.plan(t); code != 0 {
		t.Errorf("the second plan is not empty: exit %d\n%s", code, out)
	}
}

func TestAccBackendDataReadsAFile(t *testing.T) {
	t.Parallel()
	facts, err := manifest.EncodeDeclarations(declared(t, "process"))
	if err != nil {
		t.Fatal(err)
	}
	c := newCLI(t, offline(), map[string]string{"facts.json": string(facts), "main.tf": `
data "sandbox_backend" "given" { facts = file("facts.json") }
data "sandbox_backend" "shipped" { name = "process" }
output "source" { value = data.sandbox_backend.given.source }
output "same" {
  value = { for k, v in data.sandbox_backend.given : k => v if !contains(["facts", "source"], k) } == { for k, v in data.sandbox_backend.shipped : k => v if !contains(["facts", "source"], k) }
}
`})
	out, code := c.plan(t)
	if code != 2 || !strings.Contains(out, `+ source = "facts"`) || !strings.Contains(out, "+ same   = true") {
		t.Errorf("exit %d\n%s", code, out)
	}
	c.write(t, map[string]string{"main.tf": "data \"sandbox_backend\" \"x\" {\n  name = \"wasmm\"\n}\n"})
	if out, code := c.run(t, "validate", "-no-color"); code != 1 || !strings.Contains(out, "main.tf line 2") || !strings.Contains(out, " backend.unknown at name") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// testHCL are a team's own tests of its policy, of functions alone.
const testHCL = `
run "policy" {
  command = plan

  assert {
    condition     = provider::sandbox::policy(sandbox_policy.agents).digest == sandbox_policy.agents.digest
    error_message = "the function and the resource disagree"
  }
  assert {
    condition     = provider::sandbox::check(sandbox_policy.agents, { kind = "codeact", backend = "wasm", requires = ["run_code"] }).allowed
    error_message = "a harmless workload is refused"
  }
  assert {
    condition = contains(
      provider::sandbox::check(sandbox_policy.agents, { kind = "codeact", backend = "docker" }).findings[*].code,
      "isolation.evidence_insufficient",
    )
    error_message = "a claim without a probe is accepted"
  }
  assert {
    condition     = !provider::sandbox::egress_allows(sandbox_policy.agents, "evil.example.com")
    error_message = "the network is open"
  }
  assert {
    condition     = provider::sandbox::meets_floor("microvm", sandbox_policy.agents.minimum_isolation)
    error_message = "the floor is above every backend"
  }
}
`

func TestAccTerraformTestAssertsWithFunctions(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": agentsHCL, "tests/policy.tftest.hcl": testHCL})
	if out, code := c.run(t, "test", "-no-color"); code != 0 || !strings.Contains(out, "1 passed, 0 failed") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	c.write(t, map[string]string{"main.tf": strings.Replace(agentsHCL, `"runtime"`, `"vm"`, 1)})
	if out, code := c.run(t, "test", "-no-color"); code != 1 || !strings.Contains(out, "a harmless workload is refused") || !strings.Contains(out, "the floor is above every backend") {
		t.Errorf("a policy that breaks the assertions: exit %d\n%s", code, out)
	}
}

// Functions are real under mocks, and take what a mock invents for what it is.
func TestAccFunctionsAreRealUnderMocks(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": agentsHCL, "tests/mock.tftest.hcl": `
mock_provider "sandbox" {}
` + strings.Replace(testHCL, "provider::sandbox::policy(sandbox_policy.agents).digest == sandbox_policy.agents.digest", `provider::sandbox::policy(sandbox_policy.agents).name == "agents"`, 1)})
	if out, code := c.run(t, "test", "-no-color"); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
}
