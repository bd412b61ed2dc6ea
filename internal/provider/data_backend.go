package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// newBackendData is the data source sandbox_backend.
func newBackendData() datasource.DataSource {
	return &pureData{name: "backend", schema: backendSchema, evaluate: evaluateBackend}
}

// evaluateBackend reads no policy, so nothing that is imposed bears on it.
func evaluateBackend(config tftypes.Value, _ *platformPolicy, _ phase) (computed, diag.Diagnostics) {
	r := &reading{}
	o, ok := r.open(config, nil)
	if !ok {
		return nil, refusals(r.findings)
	}
	name, text := o.text("name"), o.text("facts")
	if len(r.findings) > 0 || !r.known.Everything() {
		return nil, refusals(r.findings)
	}
	declared, source, findings := declarationsOf(name, text)
	if len(findings) > 0 {
		return nil, refusals(findings)
	}
	compiled, problems := policy.CompileDeclarations(declared)
	if denied(problems) {
		return nil, refusals(under(sandbox.Path("name"), onlyRoot(problems)))
	}
	return attributesOf(config.Type()).backend(compiled.Effective(), source), nil
}

// The sources of declarations.
const (
	sourceShipped = "shipped"
	sourceFacts   = "facts"
)

// declarationsOf are those that were given, else the shipped ones of that name.
func declarationsOf(name, given string) (declared sandbox.Declarations, source string, findings []sandbox.Finding) {
	if given != "" {
		declared, findings = factsOf(given, name, sandbox.Path("facts"))
		return declared, sourceFacts, findings
	}
	if name == "" {
		return declared, "", []sandbox.Finding{{
			Code: sandbox.CodeMissing, Path: sandbox.Path("name"), Found: "neither name nor facts", Required: "a backend",
			Remedy: `write name = "wasm", or give facts`,
		}}
	}
	declared, err := facts.Lookup(name)
	return declared, sourceShipped, sandbox.FindingsAt(err, sandbox.Path("name"))
}
