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

locals {
  kinds = {
    calculate = ["run_code"]
    convert   = ["run_code", "files_in", "files_out"]
  }
}

resource "sandbox_workload" "all" {
  for_each = local.kinds
  policy   = sandbox_policy.agents
  backend  = "wasm"
  kind     = each.key
  requires = each.value
}

resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = sandbox_workload.all
}

# What hosts open: terraform output -raw manifest > manifest.json
output "manifest" {
  value = sandbox_manifest.hosts.document
}

# What hosts are told to accept, by their own configuration. Known in the plan.
output "digest" {
  value = sandbox_manifest.hosts.digest
}
