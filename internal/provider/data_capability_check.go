package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// newCapabilityCheckData is the data source sandbox_capability_check.
func newCapabilityCheckData() datasource.DataSource {
	return &pureData{name: "capability_check", schema: capabilityCheckSchema, evaluate: evaluateCapabilityCheck}
}

func evaluateCapabilityCheck(config tftypes.Value, g *platformPolicy, p phase) (computed, diag.Diagnostics) {
	s := assess(attribute(config, "policy"), config, g.layers(), false, p)
	return s.values(attributesOf(config.Type())), append(refusals(s.policyFaults()), refusals(s.workloadFaults())...)
}
