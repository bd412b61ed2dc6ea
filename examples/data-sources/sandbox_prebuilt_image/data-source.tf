terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

data "sandbox_prebuilt_image" "python" {
  name = "python-3.13" # the version is part of the name
}

resource "sandbox_workload" "report" {
  policy   = { minimum_isolation = "microvm", minimum_evidence = "documented" }
  backend  = "acas"
  kind     = "codeact"
  image    = data.sandbox_prebuilt_image.python
  requires = ["exec", "files_in", "files_out"]
}
