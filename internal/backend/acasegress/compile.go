package acasegress

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// maxRules bounds the rules of one policy, compiled or read. It is far beyond what
// people write, and keeps what is made of it below a megabyte.
const maxRules = 4096

// methodTokens are the methods that the service was seen to tell apart, sorted.
var methodTokens = [...]string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PROPFIND", "PUT", "TRACE"}

// Compiled is one egress in the service's form.
type Compiled struct {
	// Policy is what to send. The same egress gives the same policy, whatever the
	// order it is written in.
	Policy wire.EgressPolicy
	// Means is what the policy lets out: what [Read] makes of it, and what one that
	// is read back is compared with.
	Means *egress.Set
}

// Compile puts what a workload may reach into the form that version v of the
// service takes: Deny by default, inspected in full, one rule for each host and set
// of methods. Mode closed is a policy without rules.
//
// What the service cannot tell apart is refused, all of it at once, each finding at
// the rule: ports but those of HTTP, addresses, paths, methods that it does not
// know, and mode unrestricted. The compiled egress is only meant to be used when no
// finding denies. A finding that allows is the one about port 80, see the package's
// comment.
func Compile(e sandbox.Egress, v wire.Version) (Compiled, []sandbox.Finding) {
	c := compiler{version: v}
	if c.mode(e) {
		c.rules(e)
	}
	if c.denied {
		return Compiled{}, c.findings
	}
	slices.SortFunc(c.policy.HostRules, func(a, b wire.HostRule) int { return cmp.Compare(a.Pattern, b.Pattern) })
	c.policy.HostRules = slices.CompactFunc(c.policy.HostRules, func(a, b wire.HostRule) bool { return a.Pattern == b.Pattern })
	slices.SortFunc(c.policy.Rules, compareRules)
	c.policy.Rules = slices.CompactFunc(c.policy.Rules, func(a, b wire.EgressRule) bool { return compareRules(a, b) == 0 })
	c.policy.DefaultAction, c.policy.TrafficInspection = wire.EgressDeny, wire.InspectFull
	if c.policy.HostRules == nil {
		c.policy.HostRules = []wire.HostRule{}
	}
	c.wider()
	return Compiled{Policy: c.policy, Means: egress.NewSet(c.means)}, c.findings
}

func compareRules(a, b wire.EgressRule) int {
	return cmp.Or(
		cmp.Compare(a.Match.Host, b.Match.Host),
		cmp.Compare(a.Match.Scheme, b.Match.Scheme),
		slices.Compare(a.Match.Methods, b.Match.Methods),
	)
}

type compiler struct {
	version  wire.Version
	policy   wire.EgressPolicy
	means    []egress.Rule
	declared []egress.Rule
	findings []sandbox.Finding
	denied   bool
}

func (c *compiler) deny(f sandbox.Finding) {
	c.denied = true
	c.findings = append(c.findings, f)
}

// mode reports whether there are rules to compile.
func (c *compiler) mode(e sandbox.Egress) bool {
	stated := len(e.Hosts) + len(e.Rules)
	at := sandbox.Path("egress_mode")
	switch {
	case stated > maxRules:
		c.deny(sandbox.Finding{
			Code: sandbox.CodeEgressTooComplex, Path: at,
			Found:    strconv.Itoa(stated) + " hosts and rules",
			Required: "at most " + strconv.Itoa(maxRules) + " in one policy of the service",
			Remedy:   "name fewer hosts, or suffixes such as *.example.com",
		})
	case e.Mode == sandbox.EgressAllowlist:
		return true
	case e.Mode != sandbox.EgressClosed && e.Mode != sandbox.EgressUnspecified:
		c.deny(sandbox.Finding{
			Code: sandbox.CodeEgressNotEnforced, Path: at, Found: strconv.Quote(e.Mode.String()),
			Required: "closed or allowlist, which the service is told to enforce",
			Remedy:   `name what is needed in egress_hosts under egress_mode = "allowlist"`,
		})
	case stated > 0:
		c.deny(sandbox.Finding{
			Code: sandbox.CodeEgressHostsWithoutAllowlist, Path: at,
			Found:    strconv.Itoa(stated) + " hosts and rules under another mode than allowlist",
			Required: `egress_mode "allowlist"`,
			Remedy:   `set egress_mode = "allowlist", or remove the hosts and rules`,
		})
	}
	return false
}

func (c *compiler) rules(e sandbox.Egress) {
	for i, host := range e.Hosts {
		at := sandbox.Path("egress_hosts", i)
		rule, findings := egress.ParseShort(host, at)
		c.parsed(rule, findings, at)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Rules)) {
		at := sandbox.Path("egress_rules", sandbox.MapKey(name))
		rule, findings := egress.ParseRule(name, e.Rules[name], at)
		c.parsed(rule, findings, at)
	}
}

func (c *compiler) parsed(rule egress.Rule, findings []sandbox.Finding, at sandbox.FieldPath) {
	if len(findings) > 0 {
		for _, f := range findings {
			c.deny(f)
		}
		return
	}
	if c.fits(rule, at) {
		c.add(rule)
	}
}

// fits holds a rule against what the service can tell apart.
func (c *compiler) fits(rule egress.Rule, at sandbox.FieldPath) bool {
	before := len(c.findings)
	missing := func(what sandbox.Capability, found, required, remedy string) {
		c.deny(sandbox.Finding{
			Code: sandbox.CodeCapabilityMissing, Path: at, Found: "rule " + sandbox.Echo(rule.Name()) + " with " + found + ", which asks for " + what.String(),
			Required: required, Remedy: remedy,
		})
	}
	if rule.Host().IsAddress() {
		missing(sandbox.CapabilityEgressAddresses, "the address "+rule.Host().String(), "names: the service's rules are about names",
			"name the host that has the address, or choose another backend")
	}
	if _, ok := c.scheme(rule); !ok {
		missing(sandbox.CapabilityEgressPorts, "ports "+portsText(rule), "port 443"+c.otherPorts(), "choose another backend for services on other ports")
	}
	if rule.HasPaths() {
		missing(sandbox.CapabilityEgressPaths, "paths "+sandbox.Echo(strings.Join(rule.Paths(), ", ")), `paths ["*"]: how the service matches a path is not documented`,
			`set paths = ["*"] if every path may be asked, or choose another backend`)
	}
	for _, m := range rule.Methods() {
		if _, known := slices.BinarySearch(methodTokens[:], m); !known {
			c.deny(sandbox.Finding{
				Code: sandbox.CodeEgressMethodUnsupported, Path: at.Append(sandbox.Attr("methods")),
				Found:    "rule " + sandbox.Echo(rule.Name()) + " with method " + sandbox.Echo(m),
				Required: "methods that the service tells apart: " + strings.Join(methodTokens[:], ", "),
				Remedy:   "use only those methods in rules, or choose another backend",
			})
		}
	}
	return len(c.findings) == before
}

func (c *compiler) otherPorts() string {
	if c.version == wire.V0901 {
		return ", 80 or both"
	}
	return ", or 80 and 443"
}

func portsText(rule egress.Rule) string {
	ports := rule.Ports()
	if len(ports) == 1 && ports[0] == (egress.PortRange{First: 1, Last: 65535}) {
		return "1-65535"
	}
	texts := make([]string, 0, len(ports))
	for _, p := range ports {
		texts = append(texts, p.String())
	}
	return sandbox.Echo(strings.Join(texts, ","))
}

// The words of a rule's scheme in [wire.V0901]; empty is any.
const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
	schemeAny   = "any"
)

// scheme is what says the rule's ports to the service.
func (c *compiler) scheme(rule egress.Rule) (word string, ok bool) {
	tells := c.version == wire.V0901
	switch ports := rule.Ports(); {
	case slices.Equal(ports, portsOf("")):
		return "", true
	case !rule.HasPorts() && tells:
		return schemeHTTPS, true
	case !rule.HasPorts():
		return "", true
	case tells && slices.Equal(ports, portsOf(schemeHTTP)):
		return schemeHTTP, true
	default:
		return "", false
	}
}

// portsOf are the ports that a rule of that scheme is about.
func portsOf(scheme string) []egress.PortRange {
	switch scheme {
	case schemeHTTP:
		return []egress.PortRange{{First: 80, Last: 80}}
	case schemeHTTPS:
		return []egress.PortRange{{First: 443, Last: 443}}
	default:
		return []egress.PortRange{{First: 80, Last: 80}, {First: 443, Last: 443}}
	}
}

// add writes one rule that fits.
func (c *compiler) add(rule egress.Rule) {
	scheme, _ := c.scheme(rule)
	host, methods := rule.Host().String(), rule.Methods()
	meant, findings := meaning(rule.Name(), host, scheme, methods)
	if len(findings) > 0 { // a rule that was parsed is parsed again
		c.deny(findings[0])
		return
	}
	c.declared, c.means = append(c.declared, rule), append(c.means, meant)
	if scheme == "" && methods == nil {
		c.policy.HostRules = append(c.policy.HostRules, wire.HostRule{Pattern: host, Action: wire.EgressAllow})
		return
	}
	c.policy.Rules = append(c.policy.Rules, wire.EgressRule{
		Match:  wire.EgressMatch{Host: host, Scheme: scheme, Methods: methods},
		Action: wire.EgressAction{Type: wire.EgressAllow},
	})
}

// meaning is what a rule of the service is about, as a rule.
func meaning(name, host, scheme string, methods []string) (egress.Rule, []sandbox.Finding) {
	text := sandbox.EgressRule{Host: host, Methods: methods, Paths: []string{"*"}}
	for _, p := range portsOf(scheme) {
		text.Ports = append(text.Ports, p.String())
	}
	if len(methods) == 0 {
		text.Methods = []string{"*"}
	}
	return egress.ParseRule(name, text, nil)
}

// wider says that hosts may be asked on port 80 as well, where nothing declares that.
func (c *compiler) wider() {
	w, within := egress.NewSet(c.means).Within(egress.NewSet(c.declared))
	if within || c.denied {
		return
	}
	c.findings = append(c.findings, sandbox.Finding{
		Verdict: sandbox.Allow, Code: sandbox.CodeEgressGuarantee, Path: sandbox.Path("egress_mode"),
		Found:    "rules of the service in " + string(c.version) + ", which are about hosts: they let out plain HTTP on port 80 beside HTTPS",
		Required: "port 443 alone", Witness: w.String(),
		Remedy: "nothing can be done about it in this version of the service; programs should be given https addresses",
	})
}
