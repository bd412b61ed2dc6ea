# Refused: the workload names more hosts than the policy allows.

terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "microvm"
  minimum_evidence  = "documented"

  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org", "*.files.example.org"]
  egress_rules = {
    api = { host = "api.example.com", ports = [443], methods = ["GET"], paths = ["/v1"] }
  }
}

resource "sandbox_workload" "report" {
  policy  = sandbox_policy.agents
  backend = "acas"
  kind    = "codeact"

  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org", "*.example.com"]
}
