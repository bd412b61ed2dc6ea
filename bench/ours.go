package main

import (
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// compiled is the corpus as our engine holds it: compiled once, as a router does.
type compiled struct {
	policies []*policy.CompiledPolicy
	backends []*policy.CompiledDeclarations
	specs    []*policy.CompiledSpec
	corpus   *corpus
}

func compile(c *corpus) (*compiled, error) {
	out := &compiled{corpus: c}
	for i := range c.policies {
		p, findings := policy.CompilePolicy(policy.Layer{Source: c.policies[i].Name, Policy: c.policies[i]})
		if len(findings) > 0 {
			return nil, fmt.Errorf("policy %d: %v", i, findings)
		}
		out.policies = append(out.policies, p)
	}
	for i := range c.backends {
		d, findings := policy.CompileDeclarations(c.backends[i])
		if len(findings) > 0 {
			return nil, fmt.Errorf("backend %d: %v", i, findings)
		}
		out.backends = append(out.backends, d)
	}
	for i := range c.cases {
		s, findings := policy.CompileSpec(c.cases[i].spec, sandbox.Known{})
		if len(findings) > 0 {
			return nil, fmt.Errorf("workload %d: %v", i, findings)
		}
		out.specs = append(out.specs, s)
	}
	return out, nil
}

func (c *compiled) decide(i int) sandbox.Decision {
	of := &c.corpus.cases[i]
	return policy.Decide(c.policies[of.policy], c.backends[of.backend], c.specs[i])
}

// codes are those of the denials, each once, in order; none is an allow.
func (c *compiled) codes(i int) ([]sandbox.Code, error) {
	d := c.decide(i)
	var codes []sandbox.Code
	for _, f := range d.Findings {
		if f.Verdict != sandbox.Deny {
			return nil, fmt.Errorf("case %d: unexpected finding %v", i, f)
		}
		if len(codes) == 0 || codes[len(codes)-1] != f.Code {
			codes = append(codes, f.Code)
		}
	}
	if (d.Verdict == sandbox.Allow) != (len(codes) == 0) {
		return nil, fmt.Errorf("case %d: verdict %s with codes %v", i, d.Verdict, codes)
	}
	return codes, nil
}
