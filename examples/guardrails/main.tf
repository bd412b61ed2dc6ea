# Twelve workloads of one team, under a policy of another: the platform's arrives in
# a file, and nothing in this root can loosen it.

terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

# Here the root names the file itself. A runner imposes it on roots that do not, with
# SANDBOX_POLICY_FILE and SANDBOX_POLICY_DIGEST.
provider "sandbox" {
  policy_file = "platform-policy.json"
  embedded {}
}

variable "news" {
  description = "What the workload news reads."
  type        = list(string)
  default     = ["feeds.example.org"]
}

locals {
  # What each of the twelve reaches; none is closed.
  workloads = {
    archive   = []
    charts    = ["packages.example.org"]
    convert   = []
    currency  = ["api.example.com"]
    headlines = ["feeds.example.org"]
    lint      = ["packages.example.org"]
    news      = var.news
    notebooks = ["packages.example.org", "data.example.org"]
    reports   = ["data.example.org"]
    solve     = []
    translate = ["api.example.com"]
    weather   = ["api.example.com"]
  }
}

resource "sandbox_group" "team" {
  name     = "team"
  location = "westeurope"
}

# The team's own floor is lower than the platform's, which holds all the same.
resource "sandbox_policy" "team" {
  name              = "team"
  minimum_isolation = "container"
  egress_mode       = "allowlist"
  egress_hosts      = ["*.example.org", "*.example.com"]
}

resource "sandbox_workload" "all" {
  for_each = local.workloads
  policy   = sandbox_policy.team
  backend  = "acas"
  kind     = "codeact"
  requires = ["exec", "files_in", "files_out"]

  egress_mode  = length(each.value) > 0 ? "allowlist" : "closed"
  egress_hosts = length(each.value) > 0 ? each.value : null
}

resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.team
  workloads = sandbox_workload.all
}

output "digest" {
  value = sandbox_manifest.hosts.digest
}
