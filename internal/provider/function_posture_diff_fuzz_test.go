package provider

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// FuzzPostureDiffTurnsAround gives the function whatever two sides may hold, text
// for a document among it. What can be read does not differ from itself and reaches
// all that it reaches, and turned around, widened is narrowed.
func FuzzPostureDiffTurnsAround(f *testing.F) {
	for _, seed := range [][2]string{
		{`{}`, `{"denied_identities":["app"]}`},
		{`{"kind":"codeact","backend":"wasm"}`, `{"kind":"codeact","backend":"docker","egress_mode":"allowlist","egress_hosts":["*.example.com"]}`},
		{`{"policy":{},"workloads":{"a":{"kind":"k","backend":"wasm"}}}`, `{"policy":{"egress_mode":"unrestricted"},"workloads":{"b":{"kind":"k","backend":"wasm","requires":["exec"]}},"generation":3}`},
		{`"{\"api_version\":\"sandbox/v1\",\"document\":\"policy\",\"minimum_isolation\":\"vm\"}"`, `{"egress_mode":"allowlist","egress_rules":{"r":{"host":"10.0.0.0/8","ports":["80-90"],"methods":["GET"],"paths":["/v1"]}},"never_reaches":["a.example.com"]}`},
		{`{"workloads":{},"policy":null,"document":"{}"}`, `"{}"`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	returns := postureDiffDefinition().Return.GetType().TerraformType(context.Background())
	diff := func(a, b tftypes.Value) (widened, narrowed, ok bool) {
		said := evaluatePostureDiff([]tftypes.Value{a, b}, returns)
		if len(said.complaints) > 0 {
			return false, false, false
		}
		w, n := attribute(said.value, "widened"), attribute(said.value, "narrowed")
		if w.As(&widened) != nil || n.As(&narrowed) != nil {
			return false, false, false
		}
		return widened, narrowed, true
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var one, other any
		if json.Unmarshal(first, &one) != nil || json.Unmarshal(second, &other) != nil {
			return
		}
		a, b := untyped(one), untyped(other)
		if widened, narrowed, ok := diff(a, a); ok && (widened || narrowed) {
			t.Errorf("differs from itself: %s", a)
		}
		widened, narrowed, ok := diff(a, b)
		w, n, again := diff(b, a)
		if ok != again {
			t.Fatalf("answered one way only: %s and %s", a, b)
		}
		if ok && !imposes(a) && !imposes(b) && (widened != n || narrowed != w) {
			t.Errorf("%s and %s: forth %t %t, back %t %t", a, b, widened, narrowed, w, n)
		}
		if reach, faults := readReach(a); !denied(faults) {
			if verdict, witness := reach.Contains(reach); witness != "" {
				t.Errorf("does not contain itself: %s, %s of %s", verdict, witness, a)
			}
		}
	})
}

// imposes reports whether a side carries an imposed policy, whose coming and going
// is told by the later side's own policy.
func imposes(v tftypes.Value) bool { return readSide(v).posture.HostPolicy != nil }
