# An image on its way from a registry into a sandbox: looked up, verified, imported,
# and judged by whom its programs run as.

terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

# A plan asks the registries that stand here, and no other.
provider "sandbox" {
  registries = { "registry.example.com" = {} }
  embedded {}
}

variable "tag" {
  description = "Which build of the tool."
  type        = string
  default     = "1.4"
}

variable "requires" {
  description = "What the tool has to be able to do."
  type        = list(string)
  default     = ["exec", "files_in"]
}

variable "image_user" {
  description = "The user that the policy demands: non_root, root, or any."
  type        = string
  default     = "non_root"
}

# The only usable reference is the one that comes out: with the digest that the tag
# has today, and the user in the image's own configuration.
data "sandbox_image" "tool" {
  reference = "registry.example.com/agents/tool:${var.tag}"
  platform  = "linux/amd64"
}

resource "sandbox_policy" "images" {
  name              = "images"
  minimum_isolation = "microvm"
  minimum_evidence  = "documented"

  image_registries     = ["registry.example.com"] # compared whole, host and port
  image_require_digest = true                     # a tag can move
  image_prebuilt       = "deny"
  image_user           = var.image_user
}

resource "sandbox_group" "agents" {
  name     = "agents"
  location = "westeurope"
}

resource "sandbox_disk_image" "tool" {
  group = sandbox_group.agents.id
  image = data.sandbox_image.tool
}

resource "sandbox_workload" "tool" {
  policy   = sandbox_policy.images
  backend  = "acas"
  kind     = "codeact"
  image    = sandbox_disk_image.tool
  requires = var.requires
}

resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.images
  workloads = { tool = sandbox_workload.tool }
}

output "user" {
  value = data.sandbox_image.tool.user
}

output "digest" {
  value = sandbox_manifest.hosts.digest
}
