terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

locals {
  agents = provider::sandbox::policy({
    name              = "agents"
    minimum_isolation = "runtime"
  })

  hosts = provider::sandbox::manifest(local.agents, {
    report = { kind = "codeact", backend = "wasm", requires = ["run_code"] }
  })
}

# terraform output -raw manifest > manifest.json
output "manifest" {
  value = local.hosts.document
}

output "digest" {
  value = local.hosts.digest
}
