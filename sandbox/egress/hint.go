package egress

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Hint says what is near a request that [Set.Match] refused: a rule that differs
// in one thing only. It is empty where no rule is near, and where the request is
// admitted. It is for people who ask why; a guest is never told.
func (s *Set) Hint(r Request) string {
	if _, ok := s.Match(r); ok || s == nil {
		return ""
	}
	for _, z := range s.around(r.host(), nil) {
		for _, m := range z.members {
			if hint := nearMiss(&s.rules[m], r); hint != "" {
				return hint
			}
		}
	}
	if r.Host == "" {
		return ""
	}
	if _, parent, ok := strings.Cut(r.Host, "."); ok {
		for _, z := range s.around(Host{kind: hostExact, name: parent}, nil) {
			if z.host.name == parent && !z.host.IsWildcard() {
				return s.named(z) + " does not cover the names below " + sandbox.Echo(parent) + `; add "*.` + parent + `" or ` + sandbox.Echo(r.Host)
			}
		}
	}
	for _, z := range s.around(Host{kind: hostWildcard, name: r.Host}, nil) {
		if z.host.name == r.Host {
			return s.named(z) + " does not cover " + sandbox.Echo(r.Host) + " itself; add " + sandbox.Echo(r.Host)
		}
	}
	return ""
}

func (s *Set) named(z *zone) string { return "rule " + sandbox.Echo(s.rules[z.members[0]].name) }

// nearMiss explains a rule whose host covers the request.
func nearMiss(rule *Rule, r Request) string {
	text := "rule " + sandbox.Echo(rule.name) + " (" + rule.String() + ") covers the host"
	at, flawed := pathFlaw(r.Path)
	switch {
	case !portsContain(rule.ports, r.Port):
		return text + " and not port " + itoa(int(r.Port))
	case r.Method == "" && r.Path == "":
		return text + " and restricts requests, so a tunnel that hides them is not admitted"
	case !tokensContain(rule.methods, r.Method):
		return text + " and not method " + sandbox.Echo(r.Method)
	case r.Path == "":
		return text + " and restricts paths, and the request has none"
	case flawed != pathSound:
		return text + " and restricts paths, and readers may take this one for another: " + charAt(r.Path, at) + " " + flawed.String()
	default:
		return text + " and not path " + sandbox.Echo(r.Path)
	}
}
