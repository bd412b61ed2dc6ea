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

resource "sandbox_vnet_connection" "internal" {
  group     = sandbox_group.agents.id
  name      = "internal"
  subnet_id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg-agents/providers/Microsoft.Network/virtualNetworks/agents/subnets/sandboxes"
}
