// Package planbench measures what the provider adds to `terraform validate` and
// `terraform plan` of many policies and workloads, and to `plan` and `apply` of many
// groups with images: the same configuration, under the real terraform, beside a bare
// provider that has the very same schemas and decides nothing (package bare).
//
// Most of the time is Terraform's own and the framework's, and both grow with the
// schema. The ratio is therefore what the decision costs, and the absolute time
// is what the schema costs.
//
// It has no code of its own; `make bench` runs its benchmark. -benchtime=5x makes
// five rounds of it and -short a small configuration; the sub-benchmark "served"
// with -cpuprofile shows where the provider's own time goes.
package planbench
