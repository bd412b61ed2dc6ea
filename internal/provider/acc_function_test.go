package provider

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every example of a function or a data source is a configuration that plans.
// They state their requirements themselves, as whoever copies one needs them.
func TestAccEveryFunctionAndDataSourceExamplePlans(t *testing.T) {
	t.Parallel()
	examples := map[string]string{}
	for kind, file := range map[string]string{"functions": "function.tf", "data-sources": "data-source.tf", "ephemeral-resources": "ephemeral-resource.tf"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "examples", kind, "*", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			examples[filepath.Base(filepath.Dir(file))] = file
		}
	}
	for name := range functionsOf(t) {
		if _, ok := examples[name]; !ok {
			t.Errorf("no example of %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(examples[name])
			if err != nil {
				t.Fatal(err)
			}
			c := newCLI(t, offline(), map[string]string{"requirements.tf": string(content)})
			if out, code := c.run(t, "fmt", "-check", "-diff"); code != 0 {
				t.Errorf("not formatted:\n%s", out)
			}
			if name == "sandbox_image" { // it asks a registry that is nobody's
				if out, code := c.run(t, "validate", "-no-color"); code != 0 {
					t.Errorf("exit %d\n%s", code, out)
				}
				return
			}
			if out, code := c.plan(t); code == 1 || strings.Contains(out, "Warning:") {
				t.Errorf("exit %d\n%s", code, out)
			}
		})
	}
}

// functionsHCL compares everything that a function makes with its resource, in
// the plan already.
const functionsHCL = agentsHCL + reportHCL + hostsHCL + `
locals {
  policy = provider::sandbox::policy({
    name              = "agents"
    minimum_isolation = "runtime"
    denied_identities = ["app"]
    egress_mode       = "closed"
  })
  report = {
    backend  = "wasm"
    kind     = "codeact"
    requires = ["run_code", "files_in", "files_out"]
    outputs  = { chart = { path = "chart.png", media_type = "image/png", required = false } }
  }
  manifest = provider::sandbox::manifest(local.policy, { report = local.report })
}

data "sandbox_capability_check" "report" {
  policy   = local.policy
  backend  = local.report.backend
  kind     = local.report.kind
  requires = local.report.requires
  outputs  = local.report.outputs
}

output "same" {
  value = {
    policy            = local.policy.digest == sandbox_policy.agents.digest
    policy_again      = provider::sandbox::policy(sandbox_policy.agents) == local.policy
    policy_document   = provider::sandbox::digest(local.policy.document) == sandbox_policy.agents.digest
    workload          = provider::sandbox::check(local.policy, local.report).digest == sandbox_workload.report.digest
    whole_workload    = provider::sandbox::check(sandbox_policy.agents, sandbox_workload.report).allowed
    manifest          = local.manifest.digest == sandbox_manifest.hosts.digest
    manifest_document = local.manifest.document == sandbox_manifest.hosts.document
    whole_manifest    = provider::sandbox::manifest(sandbox_policy.agents, { report = sandbox_workload.report }).digest == local.manifest.digest
    data_source       = data.sandbox_capability_check.report.digest == sandbox_workload.report.digest
    verdict           = data.sandbox_capability_check.report.verdict == sandbox_workload.report.verdict
    closed            = !provider::sandbox::egress_allows(sandbox_workload.report, "a.example.com")
  }
}
`

func TestAccFunctionsAgreeWithTheResourcesInTheFirstPlan(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": functionsHCL})
	out, code := c.plan(t)
	if code != 2 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	_, outputs, _ := strings.Cut(out, "Changes to Outputs:")
	if strings.Count(outputs, "= true") != 11 || strings.Contains(outputs, "= false") || strings.Contains(outputs, "known after apply") {
		t.Errorf("not the same:\n%s", outputs)
	}
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color"); code != 0 {
		t.Fatalf("apply: exit %d\n%s", code, out)
	}
	if out, code := c.plan(t); code != 0 {
		t.Errorf("the second plan is not empty: exit %d\n%s", code, out)
	}
}

// Unknown parts stay unknown through plan and are decided in the same apply.
func TestAccFunctionsDecideDuringApplyWhatThePlanDidNotKnow(t *testing.T) {
	t.Parallel()
	const unknown = `
resource "terraform_data" "floor" { input = "runtime" }

locals {
  policy   = provider::sandbox::policy({ minimum_isolation = terraform_data.floor.output, name = "agents" })
  workload = { kind = "codeact", backend = "wasm", requires = ["run_code"] }
  denied   = { kind = "codeact", backend = "wasm", requires = ["exec"] }
}

output "name" { value = local.policy.name }
output "digest" { value = local.policy.digest }
output "verdict" { value = provider::sandbox::check(local.policy, local.workload).verdict }
output "certain" { value = provider::sandbox::check(local.policy, local.denied).verdict }
output "manifest" { value = provider::sandbox::manifest(local.policy, { report = local.workload }).digest }
output "closed" { value = provider::sandbox::egress_allows(local.policy, "a.example.com") }
`
	c := newCLI(t, offline(), map[string]string{"main.tf": unknown})
	out, code := c.plan(t)
	if code != 2 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	for _, line := range []string{
		`+ name     = "agents"`, `+ digest   = (known after apply)`, `+ verdict  = (known after apply)`,
		`+ certain  = "deny"`, `+ manifest = (known after apply)`, `+ closed   = false`,
	} {
		if !strings.Contains(out, line) {
			t.Errorf("the plan lacks %q\n%s", line, out)
		}
	}
	out, code = c.run(t, "apply", "-auto-approve", "-no-color")
	if code != 0 {
		t.Fatalf("apply: exit %d\n%s", code, out)
	}
	if !regexp.MustCompile(`(?s)certain = "deny".*digest = "sha256:.*manifest = "sha256:.*verdict = "allow"`).MatchString(out) {
		t.Errorf("applied\n%s", out)
	}
}

// The line that programs read stands alone in what people see, though Terraform
// ends the text of a function's error with a full stop.
func TestAccFunctionErrorsKeepTheirLocatorsOnLinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": `
output "policy" {
  value = provider::sandbox::policy({
    minimum_isolaton = "vm"
    egress_mode      = "allowlist"
    egress_hosts     = ["a.example.com", "a-name-that-is-long-enough-for-terraform-to-wrap-the-line-that-it-is-on.example.com/path"]
    egress_rules     = { "a rule of many words, so that its key alone would make the line too long to be kept" = { host = "a.example.com", ports = [443], methods = ["*"], path = ["*"], paths = ["*"] } }
  })
}
`})
	for _, command := range []string{"validate", "plan"} {
		out, code := c.run(t, command, "-no-color")
		if code != 1 {
			t.Fatalf("%s: exit %d\n%s", command, code, out)
		}
		lines := strings.Split(out, "\n")
		for _, want := range []string{
			" value.unknown_name at minimum_isolaton",
			" egress.host_invalid at egress_hosts[1]",
			` value.unknown_name at egress_rules["a rule of many words, so that its key alone would make the line too long to be kept"].path`,
			"3 findings.",
		} {
			if !slices.Contains(lines, want) {
				t.Errorf("%s: no line %q in\n%s", command, want, out)
			}
		}
		if !strings.Contains(out, `Invalid value for "object" parameter`) || !strings.Contains(out, "main.tf line 3") {
			t.Errorf("%s: the argument is not named\n%s", command, out)
		}
	}
}

func TestAccFunctionErrorsStandAtTheirArgument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ expression, parameter string }{
		"workload":   {`provider::sandbox::check({}, { kind = "codeact", backend = "wasm", require = [] })`, "workload"},
		"workloads":  {`provider::sandbox::manifest({ minimum_isolation = "vm" }, { report = { kind = "codeact", backend = "wasm" } })`, "workloads"},
		"generation": {`provider::sandbox::manifest({ minimum_isolation = "runtime" }, { report = { kind = "codeact", backend = "wasm", requires = [] } }, 0)`, "generation"},
		"request":    {`provider::sandbox::egress_allows({}, { host = "*.example.com" })`, "request"},
		"floor":      {`provider::sandbox::meets_floor("vm", "process")`, "floor"},
		"rungs":      {`provider::sandbox::strongest("vm", "process")`, "rungs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := newCLI(t, offline(), map[string]string{"main.tf": "output \"x\" {\n  value = " + c.expression + "\n}\n"})
			out, code := cli.run(t, "validate", "-no-color")
			if code != 1 || !strings.Contains(out, `Invalid value for "`+c.parameter+`" parameter`) {
				t.Errorf("exit %d\n%s", code, out)
			}
		})
	}
}
