package acasegress

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// matched is which requests a rule of the service is about.
type matched struct {
	// any: requests to every host may be among them, and rule is not set.
	any  bool
	rule egress.Rule
	// exact: they are all those of rule, or all requests. Otherwise they are some of
	// them.
	exact bool
	// why is what keeps them from being exact.
	why string
}

func (m *matched) inexact(why string) {
	if m.exact {
		m.exact, m.why = false, why
	}
}

// hostRule reads one rule by host.
func (r *reader) hostRule(rule *wire.HostRule, at sandbox.FieldPath) {
	m := matchOf(wire.EgressMatch{Host: rule.Pattern})
	switch rule.Action {
	case wire.EgressAllow:
		r.allow(m, at, r.order.allowHost)
	case wire.EgressDeny:
		r.order.denyHost(m)
	default:
		r.opens(at, "a rule of it answers "+word(rule.Action), "")
		r.order.denyHost(m)
	}
}

// rule reads one of the rules of which the first that matches answers.
func (r *reader) rule(rule *wire.EgressRule, at sandbox.FieldPath) {
	m, action := matchOf(rule.Match), &rule.Action
	elsewhere := action.Host != "" || action.Path != "" || action.Scheme != ""
	switch {
	case action.Type == wire.EgressDeny:
		r.order.deny(m)
	case action.Type == wire.EgressAllow && !elsewhere && len(action.Headers) == 0:
		r.allow(m, at, r.order.allow)
	case action.Type == wire.EgressTransform && !elsewhere:
		r.unclear(at, "a rule of it answers Transform", "take the rule out; a sandbox holds no credential that was not declared")
		r.order.changes(m, m)
	case action.Type == wire.EgressRewrite || elsewhere:
		r.unclear(at, "a rule of it answers "+word(action.Type)+", which sends requests elsewhere", "take the rule out, and declare where requests go")
		to := m
		if action.Host != "" {
			to = matchOf(wire.EgressMatch{Host: action.Host})
		}
		r.order.changes(m, to)
	case action.Type == wire.EgressAllow:
		r.unclear(at, "a rule of it changes headers", "take the rule out")
		r.order.changes(m, m)
	default:
		r.opens(at, "a rule of it answers "+word(action.Type), "")
		r.order.changes(m, m)
	}
}

// allow takes a rule that lets out what it matches.
func (r *reader) allow(m matched, at sandbox.FieldPath, add func(matched)) {
	if !m.exact {
		r.unclear(at, m.why, "write the rule with a host, a scheme and methods alone")
	}
	add(m)
}

// matchOf reads which requests a match is about, and at least these.
func matchOf(match wire.EgressMatch) matched {
	m := matched{exact: true}
	host := m.host(match.Host)
	scheme := match.Scheme
	switch scheme {
	case "", schemeHTTP, schemeHTTPS:
	case schemeAny:
		scheme = ""
	default:
		m.inexact("a rule of it is about the scheme " + word(scheme))
		scheme = ""
	}
	methods := m.methods(match.Methods)
	if match.Path != "" || match.NormalizePath != nil {
		m.inexact("a rule of it is about paths, and how they are matched is not documented")
	}
	if len(match.Extra) > 0 {
		m.inexact("a rule of it has what is not known here")
	}
	if m.any {
		if scheme != "" || methods != nil {
			m.inexact("a rule of it lets out to every host")
		}
		return m
	}
	rule, findings := meaning(match.Host, host, scheme, methods)
	if len(findings) > 0 {
		m.any = true
		m.inexact("a rule of it is about " + sandbox.Echo(match.Host) + ", which is no host")
		return m
	}
	m.rule = rule
	return m
}

// host reads a pattern: one of the grammar, or the suffix that all it could match
// lies below.
func (m *matched) host(pattern string) string {
	if pattern == "" || strings.Trim(pattern, "*.") == "" {
		m.any = true
		if pattern != "" && pattern != "*" {
			m.inexact("a rule of it is about " + sandbox.Echo(pattern) + ", which is no host")
		}
		return ""
	}
	host, err := egress.ParseHost(pattern)
	switch {
	case err != nil:
		m.inexact("a rule of it is about " + sandbox.Echo(pattern) + ", which is no host")
		return m.suffix(pattern)
	case host.IsAddress():
		m.inexact("a rule of it is about the address " + host.String() + ", and how the service matches addresses is not documented")
	}
	return host.String()
}

// suffix is the widest pattern that has whatever the text could match, as far as
// that ends in labels without a special character.
func (m *matched) suffix(pattern string) string {
	labels := strings.Split(pattern, ".")
	plain := len(labels)
	for plain > 0 && plainLabel(labels[plain-1]) {
		plain--
	}
	if plain > 0 && plain < len(labels) {
		if host, err := egress.ParseHost("*." + strings.Join(labels[plain:], ".")); err == nil {
			return host.String()
		}
	}
	m.any = true
	return ""
}

func plainLabel(label string) bool {
	return label != "" && strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// methods reads a list of methods; nil is any.
func (m *matched) methods(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	all := slices.Clone(list)
	slices.Sort(all)
	all = slices.Compact(all)
	for _, method := range all {
		if _, known := slices.BinarySearch(methodTokens[:], method); !known {
			m.inexact("a rule of it is about the method " + sandbox.Echo(method))
			return nil
		}
	}
	return all
}
