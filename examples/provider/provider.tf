terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

# Policies, workloads and manifests need no provider block at all. This one puts a
# policy of the platform team beside every policy in the root: the strictest of
# each rule holds. A pipeline imposes one without touching any root, through
# SANDBOX_POLICY_FILE and SANDBOX_POLICY_DIGEST.
provider "sandbox" {
  policy_file   = "${path.root}/platform-policy.json"
  policy_digest = "sha256:6aefcb0acae1e3e80f73d4b1feab6eff3a6eba2bd3fd17b30cd8a15f63e4aec6"

  # Where groups live, with their images, volumes and secrets. Offline and in CI it
  # is embedded {}, a local file.
  acas {
    resource_group = "rg-agents"
    location       = "westeurope"
  }
}
