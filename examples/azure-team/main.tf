# One team on Azure, from the group to the document that its host enforces. It
# applies as it stands, against a file beside it, and to Azure when one block is
# changed.

terraform {
  required_providers {
    sandbox = { source = "sandbox-iac/sandbox" }
  }
}

# For Azure, put in place of embedded {}:
#
#   acas { resource_group = "rg-agents" }
provider "sandbox" {
  embedded {}
}

variable "api_token" {
  description = "What programs send to api.example.com."
  type        = string
  ephemeral   = true # in no plan and no state
  default     = "made-up"
}

# Where the team's sandboxes live. It has no identity: programs in it could ask for
# tokens of one.
resource "sandbox_group" "agents" {
  name     = "agents"
  location = "westeurope"
  tags     = { team = "agents" }
}

resource "sandbox_secret" "api" {
  group             = sandbox_group.agents.id
  name              = "api-token"
  values_wo         = { token = var.api_token }
  values_wo_version = "1" # count it up to send the values again
}

# An image of the service's catalogue. The plan knows that it exists and as which
# user its programs run.
data "sandbox_prebuilt_image" "node" {
  name = "node-22"
}

# An image of the team's own. Where a registry can be asked at plan, `image` is
# data.sandbox_image.tool; see examples/image-pipeline.
resource "sandbox_disk_image" "tool" {
  group = sandbox_group.agents.id
  image = {
    reference = "registry.example.com/agents/tool:1.4"
    digest    = "sha256:6aefcb0acae1e3e80f73d4b1feab6eff3a6eba2bd3fd17b30cd8a15f63e4aec6"
    user      = "0"
  }
}

resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "microvm"
  minimum_evidence  = "documented" # what Microsoft says of its service counts
  denied_identities = ["app"]

  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org"]
  egress_rules = {
    api = { host = "api.example.com", ports = [443], methods = ["GET"], paths = ["*"] }
  }
  never_reaches = ["*.internal.example.com", "169.254.0.0/16"]

  image_registries = ["registry.example.com"]
}

resource "sandbox_workload" "chart" {
  policy   = sandbox_policy.agents
  backend  = "acas"
  kind     = "codeact"
  image    = data.sandbox_prebuilt_image.node
  requires = ["exec", "files_in", "files_out"]

  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org"]
  egress_rules = {
    api = { host = "api.example.com", ports = [443], methods = ["GET"], paths = ["*"] }
  }

  outputs = { chart = { path = "chart.svg", media_type = "image/svg+xml" } }
}

resource "sandbox_workload" "tool" {
  policy   = sandbox_policy.agents
  backend  = "acas"
  kind     = "codeact"
  image    = sandbox_disk_image.tool
  requires = ["exec", "files_in"]
}

resource "sandbox_manifest" "hosts" {
  policy = sandbox_policy.agents
  workloads = {
    chart = sandbox_workload.chart
    tool  = sandbox_workload.tool
  }
}

output "group" {
  value = sandbox_group.agents.id
}

# For the host: terraform output -raw manifest > manifest.json
output "manifest" {
  value = sandbox_manifest.hosts.document
}

# For the host's own configuration. Known in the first plan.
output "digest" {
  value = sandbox_manifest.hosts.digest
}
