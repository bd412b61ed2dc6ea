# One policy, one workload, one manifest. Nothing here needs a cloud, a daemon or
# an account: these objects are decisions, and the manifest is the document that
# a host enforces at run time.

terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "runtime"
  denied_identities = ["app"]

  # No policy opens the network, so nothing reaches it; a backend that leaves a
  # way around that is refused.
  egress_mode        = "closed"
  missing_guarantees = "refuse"

  files_out_limits = {
    max_bytes_per_file = 1048576
    max_total_bytes    = 4194304
    max_files          = 8
  }
}

resource "sandbox_workload" "primes" {
  policy   = sandbox_policy.agents
  backend  = "wasm"
  kind     = "codeact"
  requires = ["run_code", "files_in", "files_out"]

  files_out_limits = {
    max_bytes_per_file = 65536
    max_total_bytes    = 65536
    max_files          = 1
  }
  outputs = {
    table = { path = "primes.csv", media_type = "text/csv" }
  }
}

resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = { primes = sandbox_workload.primes }
}

output "manifest" {
  value = sandbox_manifest.hosts.document
}

# Known in the first plan: pin it in the host's own configuration.
output "digest" {
  value = sandbox_manifest.hosts.digest
}
