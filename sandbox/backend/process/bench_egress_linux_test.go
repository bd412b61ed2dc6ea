package process

import (
	"strconv"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// What an allowlist adds to a sandbox's making and end, and what opening TLS adds
// to that.
func BenchmarkSandboxesWithEgress(b *testing.B) {
	e := newEngine(b, testConfig(b))
	for _, c := range []struct {
		name   string
		egress sandbox.Egress
	}{
		{"closed", sandbox.Egress{}},
		{"allowlist", sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"api.example.com"}}},
		{"opened", sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{"read": rule("api.example.com", "443", "GET", "*")}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n++
				s, err := e.Start(b.Context(), engine.StartRequest{Name: "a" + strconv.Itoa(n), WorkDir: "/work", Egress: c.egress})
				if err != nil {
					b.Fatal(err)
				}
				if err := e.Delete(b.Context(), s.Guest.ID()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
