package provider

import (
	"context"
	"strconv"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// BenchmarkPlanPolicy is one PlanResourceChange of a policy of so many rules, the
// framework's own work included.
func BenchmarkPlanPolicy(b *testing.B) {
	for _, rules := range []int{1, 100, 1000} {
		b.Run(strconv.Itoa(rules), func(b *testing.B) {
			server := providerserver.NewProtocol6(offline())()
			typ, ok := policySchema().Type().TerraformType(context.Background()).(tftypes.Object)
			if !ok {
				b.Fatal("a policy is no object")
			}
			config, err := tfprotov6.NewDynamicValue(typ, policyOfRules(typ, rules))
			if err != nil {
				b.Fatal(err)
			}
			prior, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, nil))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				resp, err := server.PlanResourceChange(context.Background(), &tfprotov6.PlanResourceChangeRequest{
					TypeName: "sandbox_policy", Config: &config, ProposedNewState: &config, PriorState: &prior,
				})
				if err != nil || len(resp.Diagnostics) > 0 {
					b.Fatalf("%v %s", err, render(resp.Diagnostics))
				}
			}
		})
	}
}

func policyOfRules(typ tftypes.Object, n int) tftypes.Value {
	attrs := map[string]tftypes.Value{}
	for name, at := range typ.AttributeTypes {
		attrs[name] = tftypes.NewValue(at, nil)
	}
	list := func(text string) tftypes.Value {
		return tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, []tftypes.Value{str(text)})
	}
	rulesType, _ := typ.AttributeTypes["egress_rules"].(tftypes.Map)
	rules := map[string]tftypes.Value{}
	for i := range n {
		rules["r"+strconv.Itoa(i)] = tftypes.NewValue(rulesType.ElementType, map[string]tftypes.Value{
			"host": str("h" + strconv.Itoa(i) + ".example.com"), "ports": list("443"), "methods": list("GET"), "paths": list("/v1"),
		})
	}
	attrs["egress_mode"] = str("allowlist")
	attrs["egress_rules"] = tftypes.NewValue(rulesType, rules)
	return tftypes.NewValue(typ, attrs)
}
