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

variable "api_token" {
  type      = string
  ephemeral = true # in no plan and no state
  default   = "made-up"
}

resource "sandbox_secret" "api" {
  group             = sandbox_group.agents.id
  name              = "api-token"
  values_wo         = { token = var.api_token }
  values_wo_version = "1" # count it up to send the values again
}
