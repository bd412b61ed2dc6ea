terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

resource "sandbox_policy" "agents" {
  name = "agents"

  # What must stand between the guest's code and the host, and how we know.
  minimum_isolation = "microvm"
  minimum_evidence  = "documented"

  denied_capabilities = ["snapshot"]
  denied_identities   = ["app"]

  # What workloads may reach at most. A rule states all four of its parts.
  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org", "*.files.example.org"]
  egress_rules = {
    api = { host = "api.example.com", ports = [443], methods = ["GET"], paths = ["/v1"] }
  }
  never_reaches = ["*.internal.example.com", "169.254.0.0/16"]

  files_out_limits = {
    max_bytes_per_file = 8 * 1024 * 1024
    max_total_bytes    = 32 * 1024 * 1024
    max_files          = 64
  }

  image_registries     = ["registry.example.com"]
  image_require_digest = true
}
