package egressproxy

import (
	"net/http"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// ruleset is the rules in force.
type ruleset struct {
	set *egress.Set
	// traced are those that name TRACE, which a rule with any method does not admit.
	traced *egress.Set
}

func newRuleset(set *egress.Set) *ruleset {
	traced := slices.DeleteFunc(set.Rules(), func(r egress.Rule) bool { return !slices.Contains(r.Methods(), http.MethodTrace) })
	return &ruleset{set: set, traced: egress.NewSet(traced)}
}

// scopeOf is what has to be opened for the rules to be held: the hosts of those
// with methods or paths.
func scopeOf(set *egress.Set) leafca.Scope {
	var scope leafca.Scope
	for _, r := range set.Rules() {
		switch {
		case !r.HasMethods() && !r.HasPaths():
		case r.Host().IsAddress():
			if p := r.Host().Prefix(); !slices.Contains(scope.Prefixes, p) {
				scope.Prefixes = append(scope.Prefixes, p)
			}
		default:
			if name := r.Host().Name(); !slices.Contains(scope.Names, name) {
				scope.Names = append(scope.Names, name)
			}
		}
	}
	return scope
}

// judge asks the rules in force. It returns the rule that admits the request, or
// why none does. Nothing is looked up for it.
func (p *Proxy) judge(r egress.Request) (*egress.Rule, *denial) {
	if why := p.checks.Blocked(egress.Request{Host: r.Host, Addr: r.Addr, Port: r.Port}); why != "" {
		d := deny(sandbox.CodeEgressAlwaysBlocked, http.StatusForbidden, "it is "+why)
		d.request = r
		return nil, d
	}
	if judge := p.config.Judge; judge != nil {
		if judge.Admits(r) {
			return new(egress.Rule), nil
		}
		d := deny(sandbox.CodeEgressDenied, http.StatusForbidden, "the sandbox's egress policy does not admit it")
		d.request = r
		return nil, d
	}
	rules := p.rules.Load()
	rule, ok := p.checks.Match(rules.set, r)
	if ok && r.Method == http.MethodTrace {
		rule, ok = rules.traced.Match(r)
	}
	if ok {
		return rule, nil
	}
	return nil, p.unruled(rules.set, r)
}

// unruled is the denial of a request that no rule admits, with the addition that
// would.
func (p *Proxy) unruled(set *egress.Set, r egress.Request) *denial {
	d := deny(sandbox.CodeEgressDenied, http.StatusForbidden, "no rule admits it")
	d.request = r
	if near := set.Near(r); near != nil {
		d.rule, d.found = near.Name(), "a rule covers the host and not the rest"
	}
	add := egress.AdditionFor(r)
	attribute := "egress_rules"
	if add.Short {
		attribute = "egress_hosts"
	}
	d.change = "add to " + attribute + ": " + add.HCL(add.Key())
	return d
}

// way is how a tunnel goes on.
type way uint8

const (
	wayShut    way = iota
	wayThrough     // untouched
	wayOpened      // each request is looked at
)

// tunnel decides about a CONNECT.
func (p *Proxy) tunnel(to destination) (way, *egress.Rule, *denial) {
	rule, d := p.judge(to.connection())
	switch {
	case d == nil:
		return wayThrough, rule, nil
	case d.code == sandbox.CodeEgressDenied && p.checks.Opens(p.rules.Load().set, to.connection()):
		return wayOpened, nil, nil
	default:
		return wayShut, nil, d
	}
}

// admits reports whether something under way goes on under the rules in force.
func (p *Proxy) admits(f *flight) bool {
	if f.opened {
		way, _, _ := p.tunnel(destination{f.request.Host, f.request.Addr, f.request.Port})
		return way != wayShut
	}
	_, d := p.judge(f.request)
	return d == nil
}
