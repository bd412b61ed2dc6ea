module github.com/sandbox-iac/terraform-provider-sandbox

go 1.26.0

toolchain go1.26.8

require (
	golang.org/x/net v0.62.0
	pgregory.net/rapid v1.3.0
)

require golang.org/x/text v0.43.0 // indirect
