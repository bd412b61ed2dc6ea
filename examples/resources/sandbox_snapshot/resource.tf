terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

# Offline, in a local file. On Azure it is: acas { resource_group = "rg-agents" }
provider "sandbox" {
  embedded {}
}

resource "sandbox_group" "agents" {
  name     = "agents"
  location = "westeurope"
}

resource "sandbox_snapshot" "warm" {
  group      = sandbox_group.agents.id
  sandbox_id = "7b0c2f3e-1d5a-4f0e-9a51-2f6d0c1e8b44" # as data.sandbox_sandboxes lists it
  labels     = { name = "warm" }
}
