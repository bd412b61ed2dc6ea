terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

locals {
  # Every name is checked, at every level: a misspelt one is an error here and
  # would be dropped without a word inside the policy attribute of a workload.
  agents = provider::sandbox::policy({
    name              = "agents"
    minimum_isolation = "runtime"
    denied_identities = ["app"]
    egress_mode       = "allowlist"
    egress_hosts      = ["packages.example.org"]
    egress_rules = {
      api = { host = "api.example.com", ports = [443], methods = ["GET"], paths = ["/v1"] }
    }
  })
}

resource "sandbox_workload" "report" {
  policy   = local.agents
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code"]
}

# What a runner imposes on every root: the file, and the digest to pin it by.
output "policy_document" {
  value = local.agents.document
}

output "policy_digest" {
  value = local.agents.digest
}
