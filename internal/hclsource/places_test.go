package hclsource_test

// Each row is one place where a name can be dropped. TYPO is where the misspelt
// name stands; the neighbour has the right one in its place, and is silent.
var places = []struct {
	name        string
	files       map[string]string
	typo, right string
	want        []string
}{
	{
		"an egress rule of a policy",
		map[string]string{"root/main.tf": `
resource "sandbox_policy" "p" {
  egress_rules = { api = { host = "a.example.com", ports = ["*"], TYPO = ["GET"], paths = ["*"] } }
}`},
		"method", "methods",
		[]string{`main.tf:3 egress_rules["api"].method`},
	},
	{
		"an egress rule of a workload",
		map[string]string{"root/main.tf": `
resource "sandbox_workload" "w" {
  egress_rules = {
    "api" = {
      host = "a.example.com"
      TYPO = ["GET"]
    }
  }
}`},
		"Methods", "methods",
		[]string{`main.tf:6 egress_rules["api"].Methods`},
	},
	{
		"an egress rule of a data source",
		map[string]string{"root/main.tf": `
data "sandbox_capability_check" "c" {
  egress_rules = { api = { host = "a.example.com", ports = ["*"], TYPO = ["GET"], paths = ["*"] } }
}`},
		"method", "methods",
		[]string{`main.tf:3 egress_rules["api"].method`},
	},
	{
		"the policy of a data source",
		map[string]string{"root/main.tf": `
data "sandbox_capability_check" "c" {
  policy = { files_in_limits = { max_files = 1, TYPO = 2 } }
}`},
		"max_total", "max_total_bytes",
		[]string{"main.tf:3 policy.files_in_limits.max_total"},
	},
	{
		"an image",
		map[string]string{"root/main.tf": `
resource "sandbox_workload" "w" {
  image = { reference = "r.example.com/a", TYPO = "sha256:x" }
}`},
		"diggest", "digest",
		[]string{"main.tf:3 image.diggest"},
	},
	{
		"transfer limits",
		map[string]string{"root/main.tf": `
resource "sandbox_policy" "p" {
  files_in_limits = { max_files = 1, TYPO = 2 }
}`},
		"max_total", "max_total_bytes",
		[]string{"main.tf:3 files_in_limits.max_total"},
	},
	{
		"an output",
		map[string]string{"root/main.tf": `
resource "sandbox_workload" "w" {
  outputs = { chart = { path = "a.png", TYPO = "consume" } }
}`},
		"disposition_", "disposition",
		[]string{`main.tf:3 outputs["chart"].disposition_`},
	},
	{
		"a policy written into a workload",
		map[string]string{"root/main.tf": `
resource "sandbox_workload" "w" {
  policy = { TYPO = "vm" }
}`},
		"min_isolation", "minimum_isolation",
		[]string{"main.tf:3 policy.min_isolation"},
	},
	{
		"a rule of a policy written into a manifest",
		map[string]string{"root/main.tf": `
resource "sandbox_manifest" "m" {
  policy    = { egress_rules = { api = { host = "a.example.com", TYPO = ["/v1"] } } }
  workloads = {}
}`},
		"path", "paths",
		[]string{`main.tf:3 policy.egress_rules["api"].path`},
	},
	{
		"a workload written into a manifest",
		map[string]string{"root/main.tf": `
resource "sandbox_manifest" "m" {
  policy    = {}
  workloads = { a = { kind = "codeact", TYPO = "allowlist" } }
}`},
		"egress", "egress_mode",
		[]string{`main.tf:4 workloads["a"].egress`},
	},
	{
		"a local",
		map[string]string{"root/main.tf": `
locals { base = { minimum_isolation = "vm", TYPO = ["app"] } }
resource "sandbox_workload" "w" { policy = local.base }`},
		"denied_identites", "denied_identities",
		[]string{"main.tf:2 policy.denied_identites"},
	},
	{
		"a local of a local",
		map[string]string{"root/main.tf": `
locals {
  policies = { strict = { TYPO = "vm" }, loose = {} }
  chosen   = local.policies.strict
}
resource "sandbox_workload" "w" { policy = local.chosen }`},
		"isolation", "minimum_isolation",
		[]string{"main.tf:3 policy.isolation"},
	},
	{
		"merge over a resource",
		map[string]string{"root/main.tf": `
resource "sandbox_policy" "p" {}
resource "sandbox_manifest" "m" {
  policy    = merge(sandbox_policy.p, { TYPO = "vm" })
  workloads = {}
}`},
		"minimum-isolation", "minimum_isolation",
		[]string{"main.tf:4 policy.minimum-isolation"},
	},
	{
		"merge of rule maps",
		map[string]string{"root/main.tf": `
locals { more = { b = { host = "b.example.com", TYPO = ["443"] } } }
resource "sandbox_policy" "p" { egress_rules = merge({}, local.more) }`},
		"port", "ports",
		[]string{`main.tf:2 egress_rules["b"].port`},
	},
	{
		"either side of a condition",
		map[string]string{"root/main.tf": `
variable "strict" { type = bool }
resource "sandbox_policy" "p" {
  files_out_limits = (var.strict ? { max_files = 1 } : { TYPO = 2 })
}`},
		"files", "max_files",
		[]string{"main.tf:4 files_out_limits.files"},
	},
	{
		"the value of a for expression",
		map[string]string{"root/main.tf": `
resource "sandbox_policy" "p" {
  egress_rules = { for h in ["a.example.com"] : h => { host = h, ports = ["*"], TYPO = ["*"], paths = ["*"] } }
}`},
		"verbs", "methods",
		[]string{`main.tf:3 egress_rules["…"].verbs`},
	},
	{
		"an element that a for expression copies",
		map[string]string{"root/main.tf": `
locals { rules = { a = { host = "a.example.com", TYPO = ["GET"] } } }
resource "sandbox_policy" "p" { egress_rules = { for k, r in local.rules : k => r if k != "b" } }`},
		"method", "methods",
		[]string{`main.tf:2 egress_rules["…"].method`},
	},
	{
		"for_each",
		map[string]string{"root/main.tf": `
locals { all = { a = { image = { TYPO = "python" } } } }
resource "sandbox_workload" "w" {
  for_each = local.all
  image    = each.value.image
}`},
		"prebuild", "prebuilt",
		[]string{"main.tf:2 image.prebuild"},
	},
	{
		"a variable of any type, passed by its caller",
		map[string]string{
			"root/main.tf": `
module "m" {
  source = "../child"
  policy = { TYPO = "vm" }
}`,
			"child/main.tf": `
variable "policy" { type = any }
resource "sandbox_workload" "w" { policy = var.policy }`,
		},
		"minimum_isolatoin", "minimum_isolation",
		[]string{"main.tf:4 policy.minimum_isolatoin"},
	},
	{
		"the default of a variable",
		map[string]string{"root/main.tf": `
variable "policy" {
  type    = any
  default = { TYPO = true }
}
resource "sandbox_workload" "w" { policy = var.policy }`},
		"image_requires_digest", "image_require_digest",
		[]string{"main.tf:4 policy.image_requires_digest"},
	},
	{
		"the type of a variable",
		map[string]string{"root/main.tf": `
variable "rules" {
  type = map(object({ host = string, ports = list(string), TYPO = optional(list(string)), paths = list(string) }))
}
resource "sandbox_policy" "p" { egress_rules = var.rules }`},
		"method", "methods",
		[]string{`main.tf:3 egress_rules["…"].method`},
	},
	{
		"the output of a module",
		map[string]string{
			"root/main.tf": `
module "m" { source = "./child" }
resource "sandbox_workload" "w" { policy = module.m.policy }`,
			"root/child/main.tf": `output "policy" { value = { TYPO = "closed" } }`,
		},
		"egress_modes", "egress_mode",
		[]string{"child/main.tf:1 policy.egress_modes"},
	},
	{
		"the output of one of several modules",
		map[string]string{
			"root/main.tf": `
module "m" {
  source   = "./child"
  for_each = toset(["a"])
}
resource "sandbox_workload" "w" { policy = module.m["a"].policy }`,
			"root/child/main.tf": `output "policy" { value = { TYPO = "closed" } }`,
		},
		"egress_modes", "egress_mode",
		[]string{"child/main.tf:1 policy.egress_modes"},
	},
	{
		"JSON syntax",
		map[string]string{"root/main.tf.json": `{
  "locals": {"base": {"TYPO": "vm"}},
  "resource": {"sandbox_workload": {"w": {"policy": "${local.base}"}}}
}`},
		"minimal_isolation", "minimum_isolation",
		[]string{"main.tf.json:2 policy.minimal_isolation"},
	},
	{
		"a literal in JSON syntax",
		map[string]string{"root/main.tf.json": `{
  "resource": {"sandbox_policy": {"p": {"egress_rules": {"a": {"host": "a.example.com", "TYPO": ["GET"]}}}}}
}`},
		"method", "methods",
		[]string{`main.tf.json:2 egress_rules["a"].method`},
	},
}
