module github.com/sandbox-iac/terraform-provider-sandbox

go 1.26.0

toolchain go1.26.8

require golang.org/x/text v0.44.0
