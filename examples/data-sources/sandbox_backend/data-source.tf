terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

data "sandbox_backend" "wasm" {
  name = "wasm"
}

output "isolation" {
  value = "${data.sandbox_backend.wasm.isolation}, ${data.sandbox_backend.wasm.isolation_evidence.kind}"
}

output "guarantees" {
  value = { for name, evidence in data.sandbox_backend.wasm.guarantees : name => evidence.kind }
}

# What was probed on a machine replaces what is shipped:
#
#   data "sandbox_backend" "lab" {
#     facts = file("facts.json") # sandboxctl facts --backend process --format json > facts.json
#   }
