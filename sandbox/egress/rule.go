package egress

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Bounds on the lists of one rule. A longer list is several rules.
const (
	maxPorts   = 256
	maxMethods = 64
	maxPaths   = 256
)

// Rule is one parsed rule: requests to its host, on one of its ports, with one of
// its methods, at or below one of its paths. Make one with [ParseRule] or
// [ParseShort]; the zero value admits nothing.
type Rule struct {
	name    string
	host    Host
	ports   []PortRange // sorted, disjoint, not touching
	methods []string    // sorted, without duplicates; nil is any
	paths   []string    // ordered by comparePaths, none below another; nil is any
}

// ParseRule parses one rule object. name is how the rule is called in messages,
// usually its key in egress_rules; when empty, the host's normal form stands in.
//
// All four parts must be stated, ["*"] for any: an empty host, or a list that is
// nil or empty, is [sandbox.CodeEgressRuleIncomplete], since Terraform drops a
// misspelt name inside an object without a word. "*" stands alone in its list.
// Ports are decimal, 1 to 65535, or ranges such as "8000-8099"; methods are RFC
// 9110 tokens in upper case; paths are prefixes of whole segments, "/v1" and
// "/v1/*" being the same one. An element that is said twice is refused.
//
// All findings are returned at once, each with its path below at. The rule is
// only meant to be used when there are none.
func ParseRule(name string, r sandbox.EgressRule, at sandbox.FieldPath) (Rule, []sandbox.Finding) {
	var p ruleParser
	host := p.host(r.Host, at.Append(sandbox.Attr("host")))
	ports := p.ports(r.Ports, at.Append(sandbox.Attr("ports")))
	methods := p.methods(r.Methods, at.Append(sandbox.Attr("methods")))
	paths := p.paths(r.Paths, at.Append(sandbox.Attr("paths")))
	if len(p.findings) > 0 {
		return Rule{}, p.findings
	}
	if name == "" {
		name = host.String()
	}
	return Rule{name: name, host: host, ports: ports, methods: methods, paths: paths}, nil
}

// ParseShort parses the short form, a host alone: port 443, any method, any path.
// An address or a range in short form is an address rule on port 443. The rule is
// named after the host's normal form. Findings are at the path itself.
func ParseShort(host string, at sandbox.FieldPath) (Rule, []sandbox.Finding) {
	h, f := parseHost(host)
	if f != nil {
		return Rule{}, []sandbox.Finding{hostFinding(f, host, at)}
	}
	return Rule{name: h.String(), host: h, ports: onlyHTTPS}, nil
}

// Name is what the rule is called in messages.
func (r Rule) Name() string { return r.name }

// Host is the rule's host pattern.
func (r Rule) Host() Host { return r.host }

// HasPorts reports whether the rule asks for other ports than 443 alone.
func (r Rule) HasPorts() bool { return !slices.Equal(r.ports, onlyHTTPS) }

// HasMethods reports whether the rule restricts methods.
func (r Rule) HasMethods() bool { return r.methods != nil }

// HasPaths reports whether the rule restricts paths.
func (r Rule) HasPaths() bool { return r.paths != nil }

// Ports are the rule's ports, sorted and merged. Any port is 1 to 65535.
func (r Rule) Ports() []PortRange { return slices.Clone(r.ports) }

// Methods are the rule's methods, sorted; nil is any.
func (r Rule) Methods() []string { return slices.Clone(r.methods) }

// Paths are the rule's path prefixes in normal form, such as "/v1", with none
// below another; nil is any.
func (r Rule) Paths() []string { return slices.Clone(r.paths) }

// Equal reports whether both rules admit the same requests. Names do not matter.
func (r Rule) Equal(other Rule) bool {
	return r.host == other.host && slices.Equal(r.ports, other.ports) &&
		slices.Equal(r.methods, other.methods) && slices.Equal(r.paths, other.paths)
}

// Normal is the rule as text, in normal form: parsing it gives an equal rule,
// and equal rules have the same text.
func (r Rule) Normal() sandbox.EgressRule {
	ports := make([]string, len(r.ports))
	for i, p := range r.ports {
		ports[i] = p.String()
	}
	return sandbox.EgressRule{Host: r.host.String(), Ports: ports, Methods: orAny(r.methods), Paths: orAny(r.paths)}
}

func orAny(list []string) []string {
	if list == nil {
		return []string{"*"}
	}
	return slices.Clone(list)
}

// String reads host:ports, and what it restricts beyond them:
// "packages.example.org:443", "api.example.com:443 (GET /v1/*)".
func (r Rule) String() string {
	var b strings.Builder
	b.WriteString(bracketed(r.host.String()))
	for i, p := range r.ports {
		b.WriteByte(",:"[b2i(i == 0)])
		b.WriteString(p.String())
	}
	if r.methods == nil && r.paths == nil {
		return b.String()
	}
	b.WriteString(" (")
	b.WriteString(strings.Join(r.methods, ", "))
	for i, p := range r.paths {
		switch {
		case i > 0:
			b.WriteString(", ")
		case r.methods != nil:
			b.WriteByte(' ')
		}
		b.WriteString(p + "/*")
	}
	b.WriteByte(')')
	return b.String()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// bracketed puts an IPv6 address or range into the brackets it needs before a
// port.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// tokensContain reports whether a sorted list has the method; nil has every one.
func tokensContain(methods []string, method string) bool {
	if methods == nil {
		return true
	}
	_, ok := slices.BinarySearch(methods, method)
	return ok
}

// prefixOf is the index of the prefix that path is at or below, or -1. Since
// none of the prefixes lies below another, it can only be the greatest one that
// is not after path.
func prefixOf(prefixes []string, path string) int {
	i, exact := slices.BinarySearchFunc(prefixes, path, comparePaths)
	if exact {
		return i
	}
	if i > 0 && underPath(path, prefixes[i-1]) {
		return i - 1
	}
	return -1
}
