terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

data "sandbox_prebuilt_images" "shipped" {}

output "pythons" {
  value = [for name in data.sandbox_prebuilt_images.shipped.names : name if startswith(name, "python-")]
}

output "as_of" {
  value = data.sandbox_prebuilt_images.shipped.catalogue_date
}

# What a group's region offers now, where the provider block says where groups live:
#
#   data "sandbox_prebuilt_images" "live" {
#     group = sandbox_group.agents.id
#   }
