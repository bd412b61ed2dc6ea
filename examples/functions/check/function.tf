terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

locals {
  agents = {
    name              = "agents"
    minimum_isolation = "runtime"
  }

  report = {
    kind     = "codeact"
    requires = ["run_code"]
  }

  # One workload on every backend that could serve it.
  decisions = {
    for backend in ["docker", "wasm"] :
    backend => provider::sandbox::check(local.agents, merge(local.report, { backend = backend }))
  }
}

output "fits" {
  value = [for backend, decision in local.decisions : backend if decision.allowed]
}

output "why_not" {
  value = {
    for backend, decision in local.decisions :
    backend => [for finding in decision.findings : "${finding.code} at ${finding.path}: ${finding.remedy}"]
    if !decision.allowed
  }
}
