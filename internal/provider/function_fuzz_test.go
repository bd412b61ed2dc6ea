package provider

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// FuzzPolicyFunctionIsAFixedPoint gives the function whatever an argument may
// hold. What it returns is a policy that it takes again, unchanged and with the
// same digest: nothing is lost in the conversion to the type of its result.
func FuzzPolicyFunctionIsAFixedPoint(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"name":"agents","image_require_digest":"true","denied_capabilities":[]}`,
		`{"name":true,"egress_mode":"allowlist","egress_hosts":["a.example.com"]}`,
		`{"egress_mode":"allowlist","egress_rules":{"a":{"host":"a.example.com","ports":[443,"80-90"],"methods":["*"],"paths":["/v1/*"]}}}`,
		`{"files_in_limits":{"max_bytes_per_file":"7","max_total_bytes":9007199254740991,"max_files":0}}`,
		`{"image_registries":[],"never_reaches":["*.example.com","10.0.0.0/8"],"document":"x","digest":null}`,
		`{"name":1e300,"image_user":"non_root"}`,
	} {
		f.Add([]byte(seed))
	}
	returns := policyDefinition().Return.GetType().TerraformType(context.Background())
	f.Fuzz(func(t *testing.T, data []byte) {
		var parsed any
		if json.Unmarshal(data, &parsed) != nil {
			return
		}
		once := evaluatePolicyFunction([]tftypes.Value{untyped(parsed)}, returns)
		if len(once.complaints) > 0 {
			return
		}
		twice := evaluatePolicyFunction([]tftypes.Value{once.value}, returns)
		if len(twice.complaints) > 0 {
			t.Fatalf("it refuses its own result %s: %v", once.value, twice.complaints[0])
		}
		if !twice.value.Equal(once.value) {
			t.Errorf("%s of %s", twice.value, once.value)
		}
	})
}

// FuzzRequestIsReadOrRefused gives egress_allows whatever a request may hold. A
// request that is read has the port, method and path of the grammar of rules, and
// a policy that opens everything lets it out.
func FuzzRequestIsReadOrRefused(f *testing.F) {
	for _, seed := range []string{
		`"a.example.com"`, `"[::1]"`, `{"host":"a.example.com","port":"443","method":"GET","path":"/v1"}`, `{"host":"10.0.0.1","port":0}`,
		`{"host":"*.example.com"}`, `{"host":"a.example.com","path":"*","method":"*"}`, `{"host":"a.example.com","path":"/%2e%2e/x"}`, `{"host":null}`, `[]`, `7`,
	} {
		f.Add([]byte(seed))
	}
	ask, faults := readEgressObject(loose(map[string]tftypes.Value{"egress_mode": str("unrestricted")}))
	if len(faults) > 0 {
		f.Fatal(faults)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var parsed any
		if json.Unmarshal(data, &parsed) != nil {
			return
		}
		known, request, findings := readRequest(untyped(parsed))
		switch {
		case known == (len(findings) > 0):
			t.Errorf("known %t with findings %v", known, findings)
		case known && (request.Port == 0 || (request.Host == "") == !request.Addr.IsValid()):
			t.Errorf("read %+v", request)
		case known && ask(request) != sandbox.Allow:
			t.Errorf("%+v is not let out: %s", request, ask(request))
		}
	})
}
