package provider

import (
	"regexp"
	"strings"
	"testing"
)

// guardedHCL is a policy with the guard and some hosts, one a line.
func guardedHCL(name string, hosts ...string) string {
	return `
resource "sandbox_policy" "` + name + `" {
  name              = "agents"
  minimum_isolation = "microvm"
  on_widening       = "refuse"
  egress_mode       = "allowlist"
  egress_hosts = [
    "` + strings.Join(hosts, "\",\n    \"") + `",
  ]
}
`
}

// offeredLine is the edit that a refusal prints, alone on its line.
var offeredLine = regexp.MustCompile(`(?m)^ (accept_widening = "sha256:[0-9a-f]{64}")$`)

// guardedCLI is a root whose guarded policy was applied with a.example.com.
func guardedCLI(t *testing.T) *cli {
	t.Helper()
	c := newCLI(t, offline(), map[string]string{"main.tf": guardedHCL("agents", "a.example.com")})
	out, code := c.run(t, "apply", "-auto-approve", "-no-color", "-input=false")
	if code != 0 || !strings.Contains(out, "\n posture.no_baseline at on_widening\n") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	return c
}

func TestAccWideningIsRefusedAndAcceptedByOneEdit(t *testing.T) {
	t.Parallel()
	c := guardedCLI(t)
	wide := guardedHCL("agents", "a.example.com", "cdn.example.net")
	c.write(t, map[string]string{"main.tf": wide})
	out, code := c.plan(t)
	for _, part := range []string{
		"Error: Policy reaches more than before", "  with sandbox_policy.agents,", `    "cdn.example.net",`,
		"- egress: cdn.example.net:443 becomes reachable\n", "Capabilities, identities, isolation, limits and images are unchanged.",
		"To accept exactly this change, add:\n accept_widening = \"sha256:", "\"\n posture.widened at egress_hosts[1]\n",
	} {
		if code != 1 || !strings.Contains(out, part) {
			t.Errorf("exit %d, want %q in\n%s", code, part, out)
		}
	}
	edit := offeredLine.FindStringSubmatch(out)
	if edit == nil {
		t.Fatalf("no edit stands alone on a line:\n%s", out)
	}
	t.Logf("the refusal:\n%s", out)
	c.write(t, map[string]string{"main.tf": strings.Replace(wide, "on_widening", edit[1]+"\n  on_widening", 1)})
	out, code = c.run(t, "apply", "-auto-approve", "-no-color", "-input=false")
	if code != 0 || !strings.Contains(out, `Warning: Policy reaches more than before (policy "agents")`) {
		t.Fatalf("accepted: exit %d\n%s", code, out)
	}
	if out, code := c.plan(t); code != 0 || strings.Contains(out, "posture.") {
		t.Errorf("a stale acceptance: exit %d\n%s", code, out)
	}
}

func TestAccRenamedPolicyIsGuardedThroughItsMovedBlock(t *testing.T) {
	t.Parallel()
	c := guardedCLI(t)
	c.write(t, map[string]string{"main.tf": guardedHCL("others", "a.example.com", "b.example.com") + `
moved {
  from = sandbox_policy.agents
  to   = sandbox_policy.others
}
`})
	if out, code := c.plan(t); code != 1 || !strings.Contains(out, "\n posture.widened at egress_hosts[1]\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestAccDeletedAndRecreatedPolicySaysThatNothingWasCompared(t *testing.T) {
	t.Parallel()
	c := guardedCLI(t)
	c.write(t, map[string]string{"main.tf": guardedHCL("others", "a.example.com", "b.example.com")})
	if out, code := c.plan(t); code != 2 || !strings.Contains(out, "\n posture.no_baseline at on_widening\n") {
		t.Errorf("under another name: exit %d\n%s", code, out)
	}
	// A replacement is compared first: Terraform plans it against the state.
	c.write(t, map[string]string{"main.tf": guardedHCL("agents", "a.example.com", "b.example.com")})
	if out, code := c.plan(t, "-replace=sandbox_policy.agents"); code != 1 || !strings.Contains(out, "\n posture.widened at egress_hosts[1]\n") {
		t.Errorf("replaced: exit %d\n%s", code, out)
	}
	// Whoever may write the state can taint it, and begins again.
	if out, code := c.run(t, "taint", "sandbox_policy.agents"); code != 0 {
		t.Fatal(out)
	}
	if out, code := c.plan(t); code != 2 || !strings.Contains(out, "\n posture.no_baseline at on_widening\n") {
		t.Errorf("tainted: exit %d\n%s", code, out)
	}
}

func TestAccUnknownHostThatWidensStopsTheApply(t *testing.T) {
	t.Parallel()
	c := guardedCLI(t)
	later := strings.Replace(guardedHCL("agents", "a.example.com", "LATER"), `"LATER"`, "terraform_data.later.output", 1)
	c.write(t, map[string]string{"main.tf": later + `
variable "host" { type = string }
resource "terraform_data" "later" { input = var.host }
`})
	if out, code := c.plan(t, "-var=host=b.example.com"); code != 2 || strings.Contains(out, "posture.") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	out, code := c.run(t, "apply", "-auto-approve", "-no-color", "-input=false", "-var=host=b.example.com")
	if code != 1 || !strings.Contains(out, "\n posture.widened at egress_hosts[1]\n") || !offeredLine.MatchString(out) {
		t.Errorf("exit %d\n%s", code, out)
	}
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color", "-input=false", "-var=host=A.example.com."); code != 0 {
		t.Errorf("a host that was there: exit %d\n%s", code, out)
	}
}

func TestAccManifestGuardsAPolicyFromALocal(t *testing.T) {
	t.Parallel()
	const hosts = `
locals {
  policy = { minimum_isolation = "runtime", denied_identities = ["app"] }
}
resource "sandbox_manifest" "hosts" {
  policy      = local.policy # here
  on_widening = "refuse"
  workloads   = { report = { backend = "wasm", kind = "codeact", requires = ["run_code"] } }
}
`
	c := newCLI(t, offline(), map[string]string{"main.tf": hosts})
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color", "-input=false"); code != 0 {
		t.Fatal(out)
	}
	wide := strings.Replace(hosts, `["app"]`, "[]", 1)
	c.write(t, map[string]string{"main.tf": wide})
	out, code := c.plan(t)
	edit := offeredLine.FindStringSubmatch(out)
	if code != 1 || edit == nil || !strings.Contains(out, "\n posture.widened at policy.denied_identities\n") || !strings.Contains(out, markedLine(hosts)) {
		t.Fatalf("exit %d\n%s", code, out)
	}
	c.write(t, map[string]string{"main.tf": strings.Replace(wide, `on_widening = "refuse"`, "on_widening = \"refuse\"\n  "+edit[1], 1)})
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color", "-input=false"); code != 0 {
		t.Errorf("accepted: exit %d\n%s", code, out)
	}
}
