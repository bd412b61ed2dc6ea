module github.com/sandbox-iac/terraform-provider-sandbox

go 1.26.0

toolchain go1.26.8

require (
	github.com/go-json-experiment/json v1.27.2
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	golang.org/x/net v0.62.0
	golang.org/x/text v0.44.0
	pgregory.net/rapid v1.3.0
)

require go.uber.org/goleak v1.3.0
