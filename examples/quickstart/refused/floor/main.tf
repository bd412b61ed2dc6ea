# Refused: the backend is weaker than the strongest of everybody's floors.

terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
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
  minimum_isolation = "microvm"
}
