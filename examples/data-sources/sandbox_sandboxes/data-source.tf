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

data "sandbox_sandboxes" "all" {
  group      = sandbox_group.agents.id
  depends_on = [sandbox_group.agents] # it exists after the first apply
}

# Sandboxes that may reach everything, whoever made them.
output "open" {
  value = [for s in data.sandbox_sandboxes.all.sandboxes : s.id if s.egress_default == "Allow"]
}
