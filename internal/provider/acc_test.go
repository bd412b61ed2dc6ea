package provider

import (
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// The tests named TestAcc run the real terraform, or tofu, against the provider
// in this process. They need TF_ACC=1 and the binary on PATH, or its path in
// TF_ACC_TERRAFORM_PATH, and never the network.

func TestMain(m *testing.M) {
	// The command line must neither look for a newer self nor read the
	// configuration of whoever runs the tests.
	for name, value := range map[string]string{"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.DevNull} {
		if err := os.Setenv(name, value); err != nil {
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func factories(p *sandboxProvider) map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		TypeName: providerserver.NewProtocol6WithError(p),
	}
}

// agentsHCL is a policy that admits reportHCL.
const agentsHCL = `
resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "runtime"
  denied_identities = ["app"]
  egress_mode       = "closed"
}
`

// reportHCL is a workload that agentsHCL admits.
const reportHCL = `
resource "sandbox_workload" "report" {
  policy   = sandbox_policy.agents
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code", "files_in", "files_out"]
  outputs  = { chart = { path = "chart.png", media_type = "image/png", required = false } }
}
`

// hostsHCL is the manifest of both.
const hostsHCL = `
resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = { report = sandbox_workload.report }
}
`
