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
  name = "agents"
}

data "sandbox_group" "agents" {
  name       = "agents"
  depends_on = [sandbox_group.agents] # it exists after the first apply
}

# A group with an identity lends it to every program in its sandboxes.
output "lends_an_identity" {
  value = data.sandbox_group.agents.identity_type != null
}
