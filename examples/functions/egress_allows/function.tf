terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

locals {
  agents = provider::sandbox::policy({
    egress_mode  = "allowlist"
    egress_hosts = ["packages.example.org"]
    egress_rules = {
      api = { host = "api.example.com", ports = [443], methods = ["GET"], paths = ["/v1"] }
    }
  })
}

output "packages" {
  value = provider::sandbox::egress_allows(local.agents, "packages.example.org") # true
}

output "read" {
  value = provider::sandbox::egress_allows(local.agents, {
    host = "api.example.com", method = "GET", path = "/v1/reports"
  }) # true
}

# Without method and path the question is about all of them.
output "tunnel" {
  value = provider::sandbox::egress_allows(local.agents, "api.example.com") # false
}
