package provider

import (
	"strings"
	"testing"
)

// widerHCL compares a manifest with the one that a pipeline took from elsewhere.
const widerHCL = agentsHCL + reportHCL + hostsHCL + `
locals {
  diff = provider::sandbox::posture_diff(file("main.manifest.json"), sandbox_manifest.hosts)
}
output "widened" { value = local.diff.widened }
output "changes" { value = [for c in local.diff.changes : "${c.subject} ${c.change} ${c.axis}"] }
output "within" { value = provider::sandbox::egress_contains(sandbox_policy.agents, sandbox_workload.report).contains }
`

func TestAccPostureDiffComparesAPlannedManifestWithAFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": agentsHCL + reportHCL + hostsHCL + `
output "document" { value = sandbox_manifest.hosts.document }
`})
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	document, code := c.run(t, "output", "-raw", "document")
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, document)
	}
	c.write(t, map[string]string{"main.manifest.json": document, "main.tf": widerHCL})
	out, code := c.plan(t)
	if code != 2 || !strings.Contains(out, "+ widened  = false") || !strings.Contains(out, "+ changes  = []") || !strings.Contains(out, "+ within   = true") {
		t.Errorf("nothing changed: exit %d\n%s", code, out)
	}
	// The difference is known in the plan that makes it.
	c.write(t, map[string]string{"main.tf": strings.Replace(widerHCL, `denied_identities = ["app"]`, `denied_identities = []`, 1)})
	out, code = c.plan(t)
	if code != 2 || !strings.Contains(out, "+ widened  = true") || !strings.Contains(out, `policy \"agents\" widened denied_identities`) {
		t.Errorf("a denial less: exit %d\n%s", code, out)
	}
}

const postureCheckHCL = `
data "sandbox_posture_diff" "agents" {
  before = { minimum_isolation = "vm", egress_mode = "closed" }
  after  = { minimum_isolation = "microvm", egress_mode = "closed" }
}

check "nothing_widened" {
  assert {
    condition     = !data.sandbox_posture_diff.agents.widened
    error_message = join(" ", data.sandbox_posture_diff.agents.changes[*].axis)
  }
}
`

func TestAccPostureDiffWarnsInACheckBlock(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": postureCheckHCL})
	out, code := c.run(t, "plan", "-no-color", "-input=false")
	if code != 0 || !strings.Contains(out, "Check block assertion failed") || !strings.Contains(out, "minimum_isolation") {
		t.Errorf("exit %d\n%s", code, out)
	}
	c.write(t, map[string]string{"main.tf": strings.Replace(postureCheckHCL, `"microvm"`, `"vm"`, 1)})
	if out, code := c.plan(t); code != 0 || strings.Contains(out, "Warning") {
		t.Errorf("the same floor: exit %d\n%s", code, out)
	}
	c.write(t, map[string]string{"main.tf": strings.Replace(postureCheckHCL, `"microvm", egress_mode`, `"microvm", egres_mode`, 1)})
	if out, code := c.run(t, "validate", "-no-color"); code != 1 || !strings.Contains(out, "main.tf line 4") || !strings.Contains(out, " value.unknown_name at after.egres_mode") {
		t.Errorf("a misspelt name: exit %d\n%s", code, out)
	}
}

func TestAccPostureFunctionErrorsStandAtTheirArgument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ expression, parameter string }{
		"outer": {`provider::sandbox::egress_contains({ egres = 1 }, {})`, "outer"},
		"inner": {`provider::sandbox::egress_contains({}, null)`, "inner"},
		"after": {`provider::sandbox::posture_diff({}, { kind = "codeact" })`, "after"},
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
