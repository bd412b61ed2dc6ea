terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

# A plan asks the registries that stand here, and no other.
provider "sandbox" {
  registries = {
    "registry.example.com" = {}

    # The public registry of Docker signs in and stores its content elsewhere.
    "docker.io" = {
      token_host  = "auth.docker.io"
      blob_hosts  = ["production.cloudflare.docker.com"]
      credentials = "docker"
    }
  }
}

data "sandbox_image" "bicep" {
  reference = "registry.example.com/bicep-sandbox:0.46.1"
  platform  = "linux/amd64"
}

# The digest and the user travel with the image: a workload that needs files back is
# refused at plan when the image is known not to run as root there.
resource "sandbox_workload" "bicep" {
  policy = {
    minimum_isolation    = "microvm"
    minimum_evidence     = "documented"
    image_registries     = ["registry.example.com"]
    image_require_digest = true
  }
  backend  = "acas"
  kind     = "bicep"
  image    = data.sandbox_image.bicep
  requires = ["exec", "files_in", "files_out"]
}
