terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

variable "team_floor" {
  type    = string
  default = null
}

locals {
  floors = ["container", "hardened_container"]
}

resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = provider::sandbox::strongest(var.team_floor, local.floors...)
}
