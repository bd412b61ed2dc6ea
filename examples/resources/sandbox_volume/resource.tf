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

resource "sandbox_volume" "work" {
  group  = sandbox_group.agents.id
  name   = "work"
  type   = "DataDisk"
  size   = "8Gi"
  labels = { team = "agents" }

  lifecycle {
    prevent_destroy = true # its files go with it
  }
}
