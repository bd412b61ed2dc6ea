terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

data "sandbox_prebuilt_image" "python" {
  name = "python-3.13" # the version is part of the name
}

# A workload takes it whole, as image = data.sandbox_prebuilt_image.python.
output "fits" {
  value = provider::sandbox::check(
    { minimum_isolation = "microvm", minimum_evidence = "documented" },
    { backend = "acas", kind = "codeact", image = data.sandbox_prebuilt_image.python, requires = ["exec", "files_out"] },
  ).verdict
}
