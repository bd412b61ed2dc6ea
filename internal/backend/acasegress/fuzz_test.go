package acasegress_test

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasegress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Whatever a service answers: reading it ends, what is certain is possible, and only
// a policy that is read as the compiled one is equal to it.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"defaultAction":"Deny","trafficInspection":"Full","hostRules":[{"pattern":"*.a.example","action":"Allow"},{"pattern":"x.a.example","action":"Deny"}]}`,
		`{"defaultAction":"Deny","trafficInspection":"Full","rules":[{"match":{"host":"a.example","scheme":"http","methods":["GET"],"path":"/v1/*"},"action":{"type":"Allow"}}],"http":{"defaultAction":"Deny"}}`,
		`{"defaultAction":"Deny","trafficInspection":"Full","rules":[{"match":{},"action":{"type":"Rewrite","host":"10.0.0.0/8"}}],"transportRules":null,"x":{}}`,
	} {
		f.Add([]byte(seed), "a.example", "GET")
	}
	f.Fuzz(func(t *testing.T, body []byte, host, method string) {
		var p *wire.EgressPolicy
		if wire.Decode(body, &p) != nil {
			return
		}
		got := acasegress.Read(p)
		if n := len(got.Findings()); n > 16 || got.Clear() != (n == 0) {
			t.Fatalf("%d findings, clear %t", n, got.Clear())
		}
		for _, port := range []uint16{80, 443, 22} {
			if q := to(host, port, method); got.Does(q) && !got.May(q) {
				t.Fatalf("%s:%d is certain and impossible", host, port)
			}
		}
		c, findings := acasegress.Compile(sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{host}}, wire.V0201)
		if sandbox.Decide(findings).Verdict != sandbox.Allow {
			return
		}
		compared := acasegress.Compare(c.Means, got)
		set, plain := got.Set()
		if (compared.Err() == nil) != (plain && set.Equal(c.Means)) && got.Clear() && plain {
			t.Fatalf("%s: %v", compared.Relation, compared.Err())
		}
		if compared.Err() == nil && !got.Clear() {
			t.Fatal("unclear and equal")
		}
	})
}

// Whatever is compiled is read back as it is.
func FuzzCompile(f *testing.F) {
	f.Add("a.example", "443", "GET", false)
	f.Add("*.MÜNCHEN.example.", "80", "*", true)
	f.Add("10.0.0.1", "8000-8099", "PROPFIND", true)
	f.Fuzz(func(t *testing.T, host, port, method string, newer bool) {
		v := wire.V0201
		if newer {
			v = wire.V0901
		}
		e := ruled(sandbox.EgressRule{Host: host, Ports: []string{port}, Methods: []string{method}, Paths: []string{"*"}})
		c, findings := acasegress.Compile(e, v)
		if sandbox.Decide(findings).Verdict != sandbox.Allow {
			if c.Means != nil {
				t.Fatal("refused and compiled")
			}
			return
		}
		text, err := wire.Encode(c.Policy)
		if err != nil {
			t.Fatal(err)
		}
		var back wire.EgressPolicy
		if err := wire.Decode(text, &back); err != nil {
			t.Fatal(err)
		}
		if err := acasegress.Compare(c.Means, acasegress.Read(&back)).Err(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
