terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

locals {
  agents = provider::sandbox::policy({
    name              = "agents"
    minimum_isolation = "runtime"
    egress_mode       = "closed"
  })
}

data "sandbox_posture_diff" "agents" {
  # In a pipeline: file("main.policy.json"), taken from a branch that is trusted.
  before = local.agents.document
  after  = local.agents
}

check "nothing_widened" {
  assert {
    condition     = !data.sandbox_posture_diff.agents.widened
    error_message = join("\n", [for c in data.sandbox_posture_diff.agents.changes : "${c.subject}: ${c.axis} ${c.change}"])
  }
}
