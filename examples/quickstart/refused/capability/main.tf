# Refused: the backend cannot do what the workload requires.

terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "runtime"
  egress_mode       = "closed"
}

resource "sandbox_workload" "shell" {
  policy   = sandbox_policy.agents
  backend  = "wasm"
  kind     = "codeact"
  requires = ["exec", "files_in", "snapshot"]
}
