package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

const subsetRules = 500

// subset times the proof that as many rules lie within as many others, once where
// they do and once where the last does not.
func subset(ctx context.Context) ([]section, error) {
	bound, inside := allowlist(), allowlist()
	for i := range subsetRules {
		add(&bound, index(i), ruleOf(0, i))
		add(&inside, index(i), askFor(0, i, i))
	}
	outside := inside
	outside.Hosts = append(inside.Hosts[:len(inside.Hosts)-1:len(inside.Hosts)-1], "evil.example.net")
	c := subsetCorpus(bound, inside, outside)
	e, err := newEngines(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := e.agree(ctx); err != nil {
		return nil, err
	}
	var failed error
	opa := func(i int) contender {
		return contender{"OPA, pair by pair, rules keyed by host", func(int) {
			_, err := e.opa.eval(ctx, i)
			failed = errors.Join(failed, err)
		}}
	}
	bounds, err := parseRules(bound)
	if err != nil {
		return nil, err
	}
	var out []section
	for i, of := range []struct {
		name string
		asks sandbox.Egress
	}{{"holds", inside}, {"fails, with a witness", outside}} {
		asks, err := parseRules(of.asks)
		if err != nil {
			return nil, err
		}
		a, b := egress.NewSet(asks), egress.NewSet(bounds)
		witness, within := a.Within(b)
		if within != (i == 0) || !within && witness.Host != "evil.example.net" {
			return nil, fmt.Errorf("subset that %s: %v, %v", of.name, within, witness)
		}
		out = append(out, section{
			fmt.Sprintf("prove %d × %d rules a subset: %s", subsetRules, subsetRules, of.name),
			measure([]int{0},
				contender{oursName, func(int) { a.Within(b) }},
				contender{oursName + ", both sets compiled as well", func(int) { egress.NewSet(asks).Within(egress.NewSet(bounds)) }},
				opa(i)),
		})
	}
	return out, failed
}

// subsetCorpus is a corpus of two decisions that turn on the subset alone.
func subsetCorpus(bound, inside, outside sandbox.Egress) *corpus {
	p := newPolicy(0)
	bound.Guarantees = p.Egress.Guarantees
	p.Egress = bound
	c := &corpus{policies: []sandbox.Policy{p}, backends: backends()}
	for i, e := range []sandbox.Egress{inside, outside} {
		next := decisionCase{spec: newSpec(0, 0)}
		next.spec.Egress = e
		if i == 1 {
			next.refusal = &refusalKind{codes: []sandbox.Code{sandbox.CodeEgressNotWithinPolicy}}
		}
		c.cases = append(c.cases, next)
	}
	return c
}
