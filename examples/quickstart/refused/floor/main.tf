# Refused: the backend is weaker than the strongest of everybody's floors. The
# platform team's policy arrives in a file that the team's own roots cannot
# loosen; runners impose it with SANDBOX_POLICY_FILE instead.

terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

provider "sandbox" {
  policy_file = "platform-policy.json"
}

resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "container"
  egress_mode       = "closed"
}

resource "sandbox_workload" "primes" {
  policy            = sandbox_policy.agents
  backend           = "wasm"
  kind              = "codeact"
  requires          = ["run_code"]
  minimum_isolation = "runtime"
}
