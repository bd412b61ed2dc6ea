package provider

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

const (
	policyAddress   = "sandbox_policy.agents"
	workloadAddress = "sandbox_workload.report"
	manifestAddress = "sandbox_manifest.hosts"
)

func aDigest() knownvalue.Check {
	return knownvalue.StringRegexp(regexp.MustCompile(`^sha256:[0-9a-f]{64}$`))
}

func valueAt(name string) tfjsonpath.Path { return tfjsonpath.New(name) }

func TestAccPolicyCreatesPlansEmptyAndUpdates(t *testing.T) {
	t.Parallel()
	changes := statecheck.CompareValue(compare.ValuesDiffer())
	stays := statecheck.CompareValue(compare.ValuesSame())
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(offline()),
		Steps: []resource.TestStep{
			{
				Config: agentsHCL,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						plancheck.ExpectResourceAction(policyAddress, plancheck.ResourceActionCreate),
						plancheck.ExpectKnownValue(policyAddress, valueAt("digest"), aDigest()),
					},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				ConfigStateChecks: []statecheck.StateCheck{changes.AddStateValue(policyAddress, valueAt("digest"))},
			},
			{
				Config: strings.Replace(agentsHCL, `["app"]`, `["app", "user"]`, 1),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(policyAddress, plancheck.ResourceActionUpdate),
					plancheck.ExpectKnownValue(policyAddress, valueAt("digest"), aDigest()),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					changes.AddStateValue(policyAddress, valueAt("digest")), stays.AddStateValue(policyAddress, valueAt("digest")),
				},
			},
			{
				// Another order of the same words is another configuration and the same policy.
				Config:            strings.Replace(agentsHCL, `["app"]`, `["user", "app"]`, 1),
				ConfigStateChecks: []statecheck.StateCheck{stays.AddStateValue(policyAddress, valueAt("digest"))},
			},
		},
	})
}

func TestAccWorkloadCreatesPlansEmptyAndUpdates(t *testing.T) {
	t.Parallel()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(offline()),
		Steps: []resource.TestStep{
			{
				Config: agentsHCL + reportHCL,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						plancheck.ExpectResourceAction(workloadAddress, plancheck.ResourceActionCreate),
						plancheck.ExpectKnownValue(workloadAddress, valueAt("verdict"), knownvalue.StringExact("allow")),
						plancheck.ExpectKnownValue(workloadAddress, valueAt("findings"), knownvalue.ListExact([]knownvalue.Check{})),
						plancheck.ExpectKnownValue(workloadAddress, valueAt("digest"), aDigest()),
						plancheck.ExpectKnownValue(workloadAddress, valueAt("policy").AtMapKey("digest"), aDigest()),
					},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
			},
			{
				Config: agentsHCL + strings.Replace(reportHCL, `"codeact"`, `"bicep"`, 1),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(workloadAddress, plancheck.ResourceActionUpdate),
					plancheck.ExpectKnownValue(workloadAddress, valueAt("digest"), aDigest()),
				}},
			},
		},
	})
}

func TestAccManifestIsKnownInTheFirstPlanAndOneEditReplansEverything(t *testing.T) {
	t.Parallel()
	whole := agentsHCL + reportHCL + hostsHCL
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(offline()),
		Steps: []resource.TestStep{
			{
				Config: whole + `output "digest" { value = sandbox_manifest.hosts.digest }`,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						plancheck.ExpectKnownValue(manifestAddress, valueAt("digest"), aDigest()),
						plancheck.ExpectKnownValue(manifestAddress, valueAt("document"), knownvalue.StringRegexp(regexp.MustCompile(`^\{"api_version":"sandbox/v1"`))),
						plancheck.ExpectKnownOutputValue("digest", aDigest()),
					},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
			},
			{
				Config: strings.Replace(whole, `["app"]`, `["app", "user"]`, 1) + `output "digest" { value = sandbox_manifest.hosts.digest }`,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						plancheck.ExpectResourceAction(policyAddress, plancheck.ResourceActionUpdate),
						plancheck.ExpectResourceAction(workloadAddress, plancheck.ResourceActionUpdate),
						plancheck.ExpectResourceAction(manifestAddress, plancheck.ResourceActionUpdate),
						plancheck.ExpectKnownValue(workloadAddress, valueAt("verdict"), knownvalue.StringExact("allow")),
						plancheck.ExpectKnownValue(manifestAddress, valueAt("digest"), aDigest()),
						plancheck.ExpectKnownOutputValue("digest", aDigest()),
					},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
			},
		},
	})
}

// Both routes by which values are unknown: another object's output, which the
// plan does not know, and a required variable, which validation does not know.
func TestAccUnknownValuesAreDecidedWhenTheyAreKnown(t *testing.T) {
	t.Parallel()
	const unknown = `
variable "host" { type = string }
resource "terraform_data" "known_after_apply" { input = { backend = "wasm", floor = "runtime" } }
resource "sandbox_policy" "agents" {
  minimum_isolation = terraform_data.known_after_apply.output.floor
  egress_mode       = "allowlist"
  egress_hosts      = [var.host]
}
resource "sandbox_workload" "report" {
  policy   = sandbox_policy.agents
  backend  = terraform_data.known_after_apply.output.backend
  kind     = "codeact"
  requires = ["run_code"]
}
` + hostsHCL
	// Terraform validates with every variable unknown, whatever it is set to.
	c := newCLI(t, offline(), map[string]string{"main.tf": unknown, "terraform.tfvars": `host = "packages.example.org"`})
	out, code := c.run(t, "plan", "-no-color", "-input=false", "-out=plan")
	if code != 0 {
		t.Fatal(out)
	}
	for _, unknown := range []string{"+ verdict      = (known after apply)", "+ findings     = (known after apply)", "+ document  = (known after apply)"} {
		if !strings.Contains(squeeze(out), squeeze(unknown)) {
			t.Errorf("the plan does not show %q:\n%s", unknown, out)
		}
	}
	if out, code := c.run(t, "apply", "-no-color", "-input=false", "plan"); code != 0 {
		t.Fatal(out)
	}
	if out, code := c.plan(t); code != 0 {
		t.Errorf("the plan after the apply is not empty:\n%s", out)
	}
	if out, _ := c.run(t, "state", "show", "-no-color", workloadAddress); !strings.Contains(squeeze(out), `verdict = "allow"`) {
		t.Errorf("the workload was not decided:\n%s", out)
	}
}

func TestAccUnknownValueThatTurnsOutWrongStopsTheApply(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": agentsHCL + `
resource "terraform_data" "later" { input = "shell" }
resource "sandbox_workload" "report" {
  policy   = sandbox_policy.agents
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code", terraform_data.later.output]
}
` + hostsHCL})
	if out, code := c.plan(t); code != 2 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	out, code := c.run(t, "apply", "-auto-approve", "-no-color", "-input=false")
	if code == 0 || !strings.Contains(out, "\n value.unknown_word at requires[1]\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if out, _ := c.run(t, "state", "list"); strings.Contains(out, "sandbox_manifest") || strings.Contains(out, "sandbox_workload") {
		t.Errorf("something refused was applied:\n%s", out)
	}
}

func TestAccKilledApplyIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": agentsHCL + `
variable "command" { type = string }
resource "terraform_data" "killer" {
  input = sandbox_policy.agents.digest
  provisioner "local-exec" { command = var.command }
}
resource "sandbox_workload" "report" {
  policy   = sandbox_policy.agents
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code"]
  depends_on = [terraform_data.killer]
}
` + hostsHCL})
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color", "-input=false", "-var=command=kill -9 $PPID"); code == 0 {
		t.Fatalf("the apply survived:\n%s", out)
	}
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color", "-input=false", "-var=command=true"); code != 0 {
		t.Fatalf("the next apply failed:\n%s", out)
	}
	if out, code := c.plan(t, "-var=command=true"); code != 0 {
		t.Errorf("the plan after it is not empty:\n%s", out)
	}
	out, _ := c.run(t, "state", "list")
	for _, address := range []string{policyAddress, workloadAddress, manifestAddress} {
		if !strings.Contains(out, address) {
			t.Errorf("%s is missing:\n%s", address, out)
		}
	}
}

// Hosts are not secrets, and the docs say so: a sensitive one is hidden where it
// is an attribute and stands in the document, which hosts must be able to read.
func TestAccSensitiveHostStandsInTheDocument(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": `
variable "host" {
  type      = string
  default   = "packages.example.org"
  sensitive = true
}
resource "sandbox_policy" "agents" {
  minimum_isolation = "runtime"
  egress_mode       = "allowlist"
  egress_hosts      = [var.host]
}
resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = { report = { backend = "wasm", kind = "codeact", requires = ["run_code"] } }
}
`})
	out, code := c.plan(t)
	if code != 2 || !strings.Contains(out, "(sensitive value)") || strings.Count(out, "packages.example.org") != 1 {
		t.Errorf("exit %d\n%s", code, out)
	}
	if !strings.Contains(policySchema().MarkdownDescription, "appear in the manifest's document") {
		t.Error("the docs do not say so")
	}
}

// squeeze makes text comparable whatever Terraform aligned it to.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }
