terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

resource "terraform_data" "host" { input = "a.example.org" }

resource "sandbox_policy" "agents" {
  minimum_isolation = "microvm"
  minimum_evidence  = "documented"
  egress_mode       = "allowlist"
  egress_hosts      = ["packages.example.org", terraform_data.host.output]
  egress_rules = {
    api = { host = terraform_data.host.output, ports = [443], methods = ["*"], paths = ["*"] }
  }
}

resource "sandbox_workload" "report" {
  policy       = sandbox_policy.agents
  backend      = "acas"
  kind         = "codeact"
  requires     = ["exec", "files_out"]
  image        = { prebuilt = "python-3.13", user = terraform_data.host.output }
  labels       = { team = terraform_data.host.output }
  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org", terraform_data.host.output]
  outputs      = { chart = { path = "chart.png", name = terraform_data.host.output } }
}

resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = { report = sandbox_workload.report }
}
