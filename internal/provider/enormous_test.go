package provider

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// A hundred thousand hosts on each side are compared by every function, in a time
// that shows in what is allocated, which is counted for the whole process: nothing
// runs beside this test. What carries the arguments is Terraform's and not counted.
func TestEnormousListsAreComparedOrRefused(t *testing.T) { //nolint:paralleltest // see above
	hosts := func(n int, pattern string) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(pattern, i)
		}
		return all
	}
	allowing := func(list []string) tftypes.Value {
		elements := make([]tftypes.Value, len(list))
		for i, text := range list {
			elements[i] = textValue(text)
		}
		return objectOf(map[string]tftypes.Value{
			"egress_mode":  textValue("allowlist"),
			"egress_hosts": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, elements),
		})
	}
	document := func(list []string) tftypes.Value {
		b, err := manifest.EncodePolicy(sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: list}})
		if err != nil {
			t.Fatal(err)
		}
		return textValue(string(b))
	}
	these, those := hosts(100_000, "h%d.example.com"), hosts(100_000, "k%d.example.com")
	policy, other := allowing(these), allowing(those)
	request := textValue("h77.example.com")
	nested := textValue(strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000))
	for _, row := range []struct { //nolint:paralleltest // see above
		name      string
		function  func() function.Function
		arguments []tftypes.Value
		says      string // a part of the result, or of the refusal
	}{
		{"egress_contains, the same", newEgressContainsFunction, []tftypes.Value{policy, policy}, `"contains":tftypes.Bool<"true">`},
		{"egress_contains, another", newEgressContainsFunction, []tftypes.Value{policy, other}, `k0.example.com:443`},
		{"egress_allows", newEgressAllowsFunction, []tftypes.Value{policy, request}, `"true"`},
		{"posture_diff, the same", newPostureDiffFunction, []tftypes.Value{policy, policy}, `"widened":tftypes.Bool<"false">`},
		{"posture_diff, another", newPostureDiffFunction, []tftypes.Value{policy, other}, `k0.example.com:443`},
		{"posture_diff, documents", newPostureDiffFunction, []tftypes.Value{document(these), document(those)}, `"widened":tftypes.Bool<"true">`},
		{"posture_diff, nested 100,000 deep", newPostureDiffFunction, []tftypes.Value{nested, document(those)}, "32 levels"},
		{"policy, more than are read", newPolicyFunction, []tftypes.Value{allowing(hosts(100_001, "h%d.example.com"))}, string(sandbox.CodeEgressTooComplex)},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, ok := row.function().(*pureFunction)
			if !ok {
				t.Fatal("no pure function")
			}
			returns := f.definition().Return.GetType().TerraformType(context.Background())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			said := f.evaluate(row.arguments, returns)
			runtime.ReadMemStats(&after)
			text := said.value.String()
			for _, c := range said.complaints {
				text += string(c.Code) + " " + c.Found
			}
			if !strings.Contains(text, row.says) {
				t.Errorf("%.1000s, want %s", text, row.says)
			}
			const most = 512
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			if t.Logf("%d MB were allocated", allocated); allocated > most {
				t.Errorf("%d MB were allocated, at most %d", allocated, most)
			}
		})
	}
}
