# What lives somewhere, around what is decided. A pipeline plans and applies it
# against a file; the release pipeline puts acas {} in place of embedded {}.

terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

provider "sandbox" {
  embedded {}
}

module "policies" {
  source = "./policies"
}

resource "sandbox_group" "agents" {
  name     = "agents"
  location = "westeurope"
}

resource "sandbox_volume" "cache" {
  group = sandbox_group.agents.id
  name  = "cache"
  type  = "DataDisk"
  size  = "8Gi"
}

output "manifest" {
  value = module.policies.document
}
