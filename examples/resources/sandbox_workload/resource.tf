terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "microvm"
  minimum_evidence  = "documented"
  egress_mode       = "allowlist"
  egress_hosts      = ["packages.example.org"]
  egress_rules = {
    api = { host = "api.example.com", ports = [443], methods = ["GET", "POST"], paths = ["*"] }
  }
}

# A chart is made from an API's answers in a microVM.
resource "sandbox_workload" "report" {
  policy   = sandbox_policy.agents
  backend  = "acas"
  kind     = "codeact"
  requires = ["exec", "files_in", "files_out"]
  image    = { prebuilt = "python-3.13", user = "root" }

  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org"]
  egress_rules = {
    api = { host = "api.example.com", ports = [443], methods = ["GET"], paths = ["*"] }
  }

  outputs = {
    chart = { path = "chart.png", media_type = "image/png" }
    notes = { path = "notes.txt", media_type = "text/plain", required = false }
  }
}

# The verdict and its warnings are ordinary values.
check "nothing_is_left_open" {
  assert {
    condition     = length(sandbox_workload.report.findings) == 0
    error_message = join("\n", sandbox_workload.report.findings)
  }
}
