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

check "nothing_is_open" {
  assert {
    condition     = alltrue([for s in data.sandbox_sandboxes.all.sandboxes : s.egress_default == "Deny"])
    error_message = "A sandbox may reach everything."
  }
}
