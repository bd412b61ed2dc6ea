terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

locals {
  agents = provider::sandbox::policy({
    name              = "agents"
    minimum_isolation = "runtime"
  })
}

data "sandbox_capability_check" "report" {
  policy   = local.agents
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code", "files_out"]
}

check "report_fits" {
  assert {
    condition     = data.sandbox_capability_check.report.allowed
    error_message = join("\n", data.sandbox_capability_check.report.findings[*].remedy)
  }
}
