package policy_test

import (
	"fmt"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// manyRules makes a policy of n rules and a workload that asks for every tenth.
func manyRules(n int) (sandbox.Policy, sandbox.Spec, sandbox.Declarations) {
	p, s, d := fits()
	p.Egress.Hosts, p.Egress.Rules = nil, nil
	s.Egress.Hosts = nil
	for i := range n {
		host := fmt.Sprintf("h%d.zone%d.example.org", i, i%97)
		p.Egress.Hosts = append(p.Egress.Hosts, host)
		if i%10 == 0 {
			s.Egress.Hosts = append(s.Egress.Hosts, host)
		}
	}
	return p, s, d
}

func BenchmarkDecideAllow(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			p, s, d := manyRules(n)
			cp, _ := policy.CompilePolicy(policy.Layer{Source: "the policy", Policy: p})
			cs, _ := policy.CompileSpec(s, sandbox.Known{})
			cd, _ := policy.CompileDeclarations(d)
			b.ReportAllocs()
			for b.Loop() {
				if policy.Decide(cp, cd, cs).Verdict != sandbox.Allow {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkCompilePolicy(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			p, _, _ := manyRules(n)
			b.ReportAllocs()
			for b.Loop() {
				policy.CompilePolicy(policy.Layer{Source: "the policy", Policy: p})
			}
		})
	}
}

//nolint:paralleltest // allocations are counted for the whole process
func TestAnAllowAllocatesNothing(t *testing.T) {
	p, s, d := manyRules(100)
	cp, _ := policy.CompilePolicy(policy.Layer{Source: "the policy", Policy: p})
	cs, _ := policy.CompileSpec(s, sandbox.Known{})
	cd, _ := policy.CompileDeclarations(d)
	if n := testing.AllocsPerRun(100, func() { policy.Decide(cp, cd, cs) }); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}
