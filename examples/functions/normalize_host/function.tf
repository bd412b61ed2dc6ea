terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

variable "host" {
  type    = string
  default = "Packages.Example.org."

  validation {
    condition     = provider::sandbox::normalize_host(var.host) == "packages.example.org"
    error_message = "Packages come from packages.example.org."
  }
}

output "spellings" {
  value = [for host in ["*.EXAMPLE.com", "bücher.example", "2001:DB8::1"] : provider::sandbox::normalize_host(host)]
}
