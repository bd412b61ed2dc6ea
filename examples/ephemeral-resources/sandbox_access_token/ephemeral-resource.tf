terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

# Offline, in a local file. On Azure it is: acas { resource_group = "rg-agents" }
provider "sandbox" {
  embedded {}
}

ephemeral "sandbox_access_token" "data_plane" {}

# A token for one command, in no plan and no state.
resource "terraform_data" "smoke_test" {
  provisioner "local-exec" {
    command     = "./smoke-test"
    environment = { SANDBOX_TOKEN = ephemeral.sandbox_access_token.data_plane.token }
  }
}
