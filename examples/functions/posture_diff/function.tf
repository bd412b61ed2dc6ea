terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

locals {
  # In a pipeline: file("main.manifest.json"), taken from a branch that is trusted.
  before = provider::sandbox::policy({
    name              = "agents"
    minimum_isolation = "microvm"
    egress_mode       = "allowlist"
    egress_hosts      = ["api.example.com"]
  })
  after = provider::sandbox::policy({
    name              = "agents"
    minimum_isolation = "vm"
    egress_mode       = "allowlist"
    egress_hosts      = ["api.example.com", "cdn.example.net"]
  })
  diff = provider::sandbox::posture_diff(local.before, local.after)
}

output "widened" {
  value = local.diff.widened # true
}

# ["policy \"agents\": egress widened, cdn.example.net:443"]
output "widenings" {
  value = [
    for c in local.diff.changes : "${c.subject}: ${c.axis} ${c.change}, ${coalesce(c.witness, c.after)}"
    if contains(["widened", "incomparable"], c.change)
  ]
}
