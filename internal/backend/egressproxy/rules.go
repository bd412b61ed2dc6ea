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
		found := "the sandbox's egress policy does not admit it"
		if judge.Admits(r) {
			if r.Path == "" || egress.PathFlaw(r.Path) == "" || !p.looksInside(nil, r) {
				return new(egress.Rule), nil
			}
			found = "a path that readers take for another"
		}
		d := deny(sandbox.CodeEgressDenied, http.StatusForbidden, found)
		d.request = r
		return nil, d
	}
	rules := p.rules.Load()
	rule, ok := p.checks.Match(rules.set, r)
	if ok && r.Method == http.MethodTrace {
		rule, ok = rules.traced.Match(r)
	}
	if ok && carriesWidely(rules.set, r) {
		d := deny(sandbox.CodeEgressAddressRefused, http.StatusForbidden, "it carries a special IPv4 address, and the rule is about other addresses too")
		d.request, d.rule = r, rule.Name()
		return nil, d
	}
	if ok {
		return rule, nil
	}
	return nil, p.unruled(rules.set, r)
}

// carriesWidely reports whether an address leads to a special IPv4 address, such as a
// private one, and only by rules for IPv6 at large: who wrote those, did not think of
// it. A rule for that address, or for translations, names it.
func carriesWidely(set *egress.Set, r egress.Request) bool {
	inner, carries := egress.CarriedAddress(r.Addr)
	if !carries {
		return false
	}
	if _, special := egress.SpecialAddress(inner); !special {
		return false
	}
	return !slices.ContainsFunc(set.MatchAll(r), func(i int) bool { return set.Rule(i).Host().CarriesAddresses() })
}

// looksInside reports whether what admits a request goes by its method or its path. Of
// a judge it is known by whether the connection as a whole is admitted as well.
func (p *Proxy) looksInside(rule *egress.Rule, r egress.Request) bool {
	if judge := p.config.Judge; judge != nil {
		return !judge.Admits(egress.Request{Host: r.Host, Addr: r.Addr, Port: r.Port})
	}
	return rule.HasMethods() || rule.HasPaths()
}

// unruled is the denial of a request that no rule admits, with the addition that
// would, where one can name what was asked for.
func (p *Proxy) unruled(set *egress.Set, r egress.Request) *denial {
	d := deny(sandbox.CodeEgressDenied, http.StatusForbidden, "no rule admits it")
	d.request = r
	if near := set.Near(r); near != nil {
		d.rule, d.found = near.Name(), "a rule covers the host and not the rest"
	}
	add := egress.AdditionFor(r)
	if add.Unnamed != "" {
		return d // what would admit it is more than was asked for
	}
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
