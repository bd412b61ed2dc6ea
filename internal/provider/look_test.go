package provider

import ("testing")

func TestLook(t *testing.T) {
	c := newCLI(t, offline(), map[string]string{"main.tf": `
resource "sandbox_policy" "agents" {
  name              = "agents"
  minimum_isolation = "microvm"
  minimum_evidence  = "documented"
  denied_identities = ["app"]

  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org", "*.files.example.org"]
  egress_rules = {
    api = { host = "api.example.com", ports = [443], methods = ["GET"], paths = ["/v1"] }
  }
  image_registries     = ["registry.example.com"]
  image_prebuilt       = "allow"
  never_reaches = ["*.internal.example.com", "169.254.0.0/16"]
}

resource "sandbox_workload" "report" {
  policy   = sandbox_policy.agents
  backend  = "acas"
  kind     = "codeact"
  image    = { prebuilt = "python-3.13" }
  requires = ["exec", "files_in", ]

  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org"]
}

resource "sandbox_workload" "bad" {
  policy   = sandbox_policy.agents
  backend  = "docker"
  kind     = "codeact"
  requires = ["exec", "files_in", "snapshot"]
  egress_mode  = "allowlist"
  egress_hosts = ["packages.example.org",
    "*.example.com",
  ]
  egress_rules = {
    one = { host = "api.example.com", ports = [443], methods = ["GET"], paths = ["/v1"] }
    two = { host = "api.example.com", ports = [443], methods = ["POST"], paths = ["/v1"] }
  }
}

resource "sandbox_manifest" "hosts" {
  policy    = sandbox_policy.agents
  workloads = { report = sandbox_workload.report }
}

output "manifest" { value = sandbox_manifest.hosts.document }
output "digest" { value = sandbox_manifest.hosts.digest } # known in the first plan
`})
	out, code := c.plan(t)
	t.Logf("exit %d\n%s", code, out)
}
