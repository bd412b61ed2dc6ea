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

resource "sandbox_disk_image" "tool" {
  group = sandbox_group.agents.id
  image = {
    reference = "registry.example.com/agents/tool:1.4"
    digest    = "sha256:6aefcb0acae1e3e80f73d4b1feab6eff3a6eba2bd3fd17b30cd8a15f63e4aec6"
    user      = "1654"
  }
}

# The workload knows at plan what the image is and whom its programs run as.
resource "sandbox_workload" "report" {
  policy   = { minimum_evidence = "documented" }
  backend  = "acas"
  kind     = "codeact"
  requires = ["exec"]
  image    = sandbox_disk_image.tool
}
