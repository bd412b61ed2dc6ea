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
  tags     = { team = "agents" }

  # No identity: programs in the group's sandboxes could ask for tokens of it.

  timeouts {
    delete = "40m" # a group has taken ten minutes to go
  }
}

# Both are known in the first plan.
output "id" {
  value = sandbox_group.agents.id
}

output "endpoint" {
  value = sandbox_group.agents.endpoint
}
