terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

locals {
  company = provider::sandbox::policy({
    egress_mode  = "allowlist"
    egress_hosts = ["*.example.com", "packages.example.org"]
  })
  team = provider::sandbox::policy({
    egress_mode  = "allowlist"
    egress_hosts = ["api.example.com"]
  })
  within = provider::sandbox::egress_contains(local.company, local.team)
}

output "team" {
  value = local.team.digest
  precondition {
    condition     = local.within.contains
    error_message = "The team's policy would reach ${coalesce(local.within.witness, "more")}."
  }
}

# { contains = false, witness = "evil.example.com:443" }
output "other_way_round" {
  value = provider::sandbox::egress_contains(local.team, local.company)
}
