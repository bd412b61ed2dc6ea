terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

data "sandbox_backend" "serving" {
  name = "docker"
}

output "hardened" {
  value = provider::sandbox::meets_floor(data.sandbox_backend.serving.isolation, "hardened_container")
}

# Null is the floor that holds where nobody states one: microvm.
output "default_floor" {
  value = provider::sandbox::meets_floor("vm", null)
}
