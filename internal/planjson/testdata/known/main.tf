terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "microvm"
  minimum_evidence  = "documented"
  denied_identities = ["app"]
  egress_mode       = "allowlist"
  egress_hosts      = ["packages.example.org"]
  egress_rules = {
    api = { host = "api.example.com", ports = [443], methods = ["GET"], paths = ["*"] }
  }
  files_in_limits  = { max_bytes_per_file = 8388608, max_total_bytes = 33554432, max_files = 64 }
  image_registries = ["registry.example.com"]
}

resource "sandbox_workload" "all" {
  for_each        = toset(["left", "report"])
  policy          = sandbox_policy.agents
  backend         = "acas"
  kind            = "codeact"
  requires        = ["files_out", "exec"]
  image           = { prebuilt = "python-3.13", user = "0" }
  labels          = { team = each.key }
  egress_mode     = "allowlist"
  egress_hosts    = ["packages.example.org"]
  outputs         = { chart = { path = "chart.png", media_type = "image/png", required = false } }
  files_in_limits = { max_bytes_per_file = 1048576, max_total_bytes = 1048576, max_files = 1 }
}

resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = { report = sandbox_workload.all["report"] }
}
