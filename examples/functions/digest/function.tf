terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "runtime"
}

resource "sandbox_manifest" "hosts" {
  policy = sandbox_policy.agents
  workloads = {
    report = { kind = "codeact", backend = "wasm", requires = ["run_code"] }
  }
}

# The digest to accept, of a document that a host would read.
output "accept" {
  value = provider::sandbox::digest(sandbox_manifest.hosts.document)
}
