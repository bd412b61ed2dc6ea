package acasguests

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// judge holds a sandbox's egress policy as the service orders it: the rules, first
// match first, then the rules of hosts, then the default. None is everything.
//
// A rule that would change a request on its way is not played: what it matches is
// refused, since it would arrive as nobody meant it.
type judge struct {
	policy atomic.Pointer[wire.EgressPolicy]
}

func (j *judge) set(p *wire.EgressPolicy) { j.policy.Store(p) }

// Admits judges a request, or a connection of which nothing more is seen: that is
// admitted where all that goes through it would be.
func (j *judge) Admits(r egress.Request) bool {
	action, _ := decide(j.policy.Load(), r)
	return action == wire.EgressAllow
}

// decide answers the action and the name of what matched.
func decide(p *wire.EgressPolicy, r egress.Request) (action, matched string) {
	if p == nil {
		return wire.EgressAllow, ""
	}
	host, seen := hostOf(r), r.Method != ""
	for _, rule := range p.Rules {
		m := rule.Match
		if m.Host != "" && !matches(m.Host, host) || m.Scheme != "" && m.Scheme != "any" && m.Scheme != scheme(r) {
			continue
		}
		if !seen && narrow(m) {
			return wire.EgressDeny, rule.Name // what goes through it would have to be seen
		}
		if seen && (m.Path != "" && !matches(m.Path, r.Path) || !anyMethod(m) && !slices.Contains(m.Methods, r.Method)) {
			continue
		}
		return rule.Action.Type, rule.Name
	}
	for _, rule := range p.HostRules {
		if matches(rule.Pattern, host) {
			return rule.Action, rule.Pattern
		}
	}
	if p.DefaultAction == "" {
		return wire.EgressAllow, ""
	}
	return p.DefaultAction, ""
}

// narrow reports whether a rule is about more than a host.
func narrow(m wire.EgressMatch) bool { return m.Path != "" || !anyMethod(m) }

func anyMethod(m wire.EgressMatch) bool {
	return len(m.Methods) == 0 || slices.Contains(m.Methods, "*")
}

func hostOf(r egress.Request) string {
	if r.Addr.IsValid() {
		return r.Addr.String()
	}
	return r.Host
}

// scheme is what a port is for where nothing else says it.
func scheme(r egress.Request) string {
	if r.Port == 80 {
		return "http"
	}
	return "https"
}

// matches compares with a pattern in which stars stand for anything. Each takes
// as little as it can, which leaves the most to those behind it.
func matches(pattern, text string) bool {
	pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(part):], more
	}
}

// opened are the hosts whose TLS has to be opened for the policy to be held.
func (j *judge) opened() map[string]sandbox.EgressRule {
	rules := map[string]sandbox.EgressRule{}
	p := j.policy.Load()
	if p == nil {
		return rules
	}
	for i, rule := range p.Rules {
		if !narrow(rule.Match) || strings.Contains(strings.TrimPrefix(rule.Match.Host, "*."), "*") {
			continue // what a certificate cannot be limited to stays shut
		}
		r := sandbox.EgressRule{Host: rule.Match.Host, Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"*"}}
		if _, findings := egress.ParseRule("opened", r, nil); len(findings) == 0 {
			rules["opened"+strconv.Itoa(i)] = r
		}
	}
	return rules
}
