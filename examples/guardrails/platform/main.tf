# The platform team's own root. What it prints is the file that runners impose:
#
#   terraform apply && terraform output -raw document > ../platform-policy.json

terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

locals {
  platform = provider::sandbox::policy({
    name                 = "platform"
    minimum_isolation    = "microvm"
    minimum_evidence     = "documented"
    denied_identities    = ["app"]
    egress_mode          = "allowlist"
    egress_hosts         = ["packages.example.org", "feeds.example.org", "data.example.org", "api.example.com"]
    never_reaches        = ["*.internal.example.org", "169.254.0.0/16"]
    image_registries     = ["registry.example.com"]
    image_require_digest = true
  })
}

output "document" {
  value = local.platform.document
}

output "digest" {
  value = local.platform.digest
}
