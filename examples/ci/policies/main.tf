# What is decided: policies, workloads and the manifest. Nothing here lives anywhere,
# so `sandboxctl check` judges this folder on any machine.

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
}

resource "sandbox_workload" "report" {
  policy   = sandbox_policy.agents
  backend  = "acas"
  kind     = "codeact"
  requires = ["exec", "files_in", "files_out"]
  image    = { prebuilt = "node-22", user = "root" }

  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org"]
}

resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = { report = sandbox_workload.report }
}

output "document" {
  value = sandbox_manifest.hosts.document
}

output "digest" {
  value = sandbox_manifest.hosts.digest
}
