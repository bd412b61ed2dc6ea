package translate

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// acaElsewhere is where the parts of a manifest that say nothing about the network
// belong.
var acaElsewhere = map[string]string{
	"name": "", "group": "use sandbox_group", "sandboxGroup": "use sandbox_group", "region": "use location of sandbox_group", "location": "use location of sandbox_group",
	"disk": "use image of sandbox_workload", "diskId": "use image of sandbox_workload", "image": "use image of sandbox_workload",
	"sourcesRef": "use image of sandbox_workload", "snapshot": "use image of sandbox_workload", "presetSandboxType": "use image of sandbox_workload",
	"resources": "", "lifecycle": "use minimum_cleanup of the policy", "labels": "use labels of sandbox_workload",
	"environment": "", "entrypoint": "", "cmd": "", "command": "", "workingDirectory": "use work_dir of sandbox_workload",
	"ports": "", "volumes": "", "credentialRefs": "", "agentIdentity": "", "telemetryConfig": "", "vmmType": "", "contentPackageDownloads": "",
	"identitySettings": "use maximum_identity_scope of the policy",
	"id":               "", "state": "", "stateDetails": "", "createdAt": "", "managementUrl": "", "outboundIpAddresses": "",
}

// aca reads a manifest of the aca command line, what the service answers about a
// sandbox, or an egress policy alone.
func (r *reader) aca(root node) {
	policy, inManifest := r.mapping(root, "egressPolicy")
	if !inManifest && (root.has("defaultAction") || root.has("hostRules") || root.has("rules") || root.has("http")) {
		r.acaPolicy(root)
		return
	}
	known := inManifest
	for name, value := range root.fields() {
		remedy, listed := acaElsewhere[name]
		known = known || listed
		switch {
		case name == "egressPolicy":
		case name == "name":
			r.policy.Name = r.textOf(value)
		case listed:
			r.elsewhere(value, name, remedy)
		case name == "skipEgressProxy":
			if text, _ := value.scalar(); text != "false" {
				r.lose(value, Narrows, "the service enforces no rule where skipEgressProxy is set; here all of them are", "")
			}
		case name == "egressPolicyId":
			r.lose(value, Unknown, "a policy that is kept in the group is named, and its rules are not in this file", "import that policy")
		case name == "customerVnetConnectionName", name == "connections", name == "gatewayConnections":
			r.lose(value, Narrows, "left out: what "+name+" connects to", "name the hosts behind it in egress_rules")
		default:
			r.unknown(value, name)
		}
	}
	switch {
	case !known:
		r.notThis(root, "a sandbox manifest or an egress policy", `give what "aca sandbox init" writes, or the value of egressPolicy`)
	case !inManifest:
		r.lose(root, Narrows, "without egressPolicy the service permits any destination; nothing is permitted here", openRemedy)
	default:
		r.acaPolicy(policy)
	}
}

const openRemedy = `name what is needed in egress_hosts, or set egress_mode = "unrestricted" if that is meant`

// acaPolicy reads one egress policy.
func (r *reader) acaPolicy(p node) {
	if inner, ok := r.mapping(p, "http"); ok && !r.acaCopy(p, inner) {
		return
	}
	if action := r.acaAction(p, "defaultAction"); action != "Deny" {
		r.lose(p, Narrows, "the default action is Allow, which permits any destination that no rule denies; only what rules permit is permitted here", openRemedy)
	}
	for name, value := range p.fields() {
		switch name {
		case "defaultAction", "hostRules", "rules", "http":
		case "trafficInspection":
			if mode := r.word(p, name, "Full", "Partial", "None", "Legacy"); mode != "Full" && mode != "" {
				r.lose(value, Narrows, "under "+mode+" the service lets traffic pass that no rule was held against; nothing passes here without a rule", "")
			}
		case "enforcementMode":
			if mode := r.word(p, name, "Enforced", "Audit"); mode == "Audit" {
				r.lose(value, Narrows, "under Audit the service only writes down what it would refuse; here it is refused", "")
			}
		case "transportRules":
			r.acaTransport(value)
		case "source", "validationWarnings":
		case "name":
			r.policy.Name = r.textOf(value)
		case "hookRef", "proxyActions", "tds":
			r.lose(value, Unknown, name+" lets something else decide about traffic", "")
		default:
			r.unknown(value, name)
		}
	}
	for _, rule := range r.mappings(p, "hostRules") {
		r.acaHostRule(rule)
	}
	for i, rule := range r.mappings(p, "rules") {
		r.acaRule(rule, i)
	}
}

// acaCopy handles the copy of its rules that the service keeps under http. It
// reports whether the outer object is to be read.
func (r *reader) acaCopy(p, inner node) bool {
	if !p.has("rules") && !p.has("hostRules") && !p.has("defaultAction") {
		r.acaPolicy(inner)
		for name, value := range p.fields() {
			if name != "http" {
				r.unknown(value, name)
			}
		}
		return false
	}
	for name, value := range inner.fields() {
		if outer, ok := p.field(name); !ok || !same(outer.value, value.value) {
			r.lose(value, Unknown, "http says something else than the rules around it, which are the ones that were read", "give one of the two")
		}
	}
	return true
}

// acaAction reads Allow or Deny. Allow is what the service takes where nothing is
// stated.
func (r *reader) acaAction(p node, name string) string {
	if action := r.word(p, name, "Allow", "Deny"); action != "" {
		return action
	}
	return "Allow"
}

// acaHostRule reads {pattern, action}. How host rules and rules go together is
// documented nowhere, so a denial of either goes before all permissions of the
// other.
func (r *reader) acaHostRule(rule node) {
	strange := r.strange(rule, "pattern", "action")
	pattern, action := r.text(rule, "pattern"), r.acaAction(rule, "action")
	if action == "Deny" {
		e := acaEgress(pattern)
		e.Ports = anything()
		r.acaDeny(rule, e, -1, "", true)
		return
	}
	if !strange {
		r.acaPermit(rule, pattern, pattern, acaEgress(pattern), lastOrder)
	}
}

// strange lists the names of a mapping that are not known, and reports whether
// there are any. A rule with one may say less than it seems to.
func (r *reader) strange(rule node, known ...string) bool {
	found := false
	for name, value := range rule.fields() {
		ok := false
		for _, k := range known {
			ok = ok || k == name
		}
		if !ok {
			found = true
			r.lose(value, Narrows, "nothing is known of "+sandbox.Echo(name)+", which may restrict the rule; a permission with it is left out", "write the rule by hand")
		}
	}
	return found
}

// acaEgress is a host with what the service's proxy judges: HTTP and TLS on their
// own ports.
func acaEgress(pattern string) sandbox.EgressRule {
	return sandbox.EgressRule{Host: pattern, Ports: []string{"80", "443"}, Methods: anything(), Paths: anything()}
}

// acaRule reads one of the ordered rules, of which the first that matches decides.
func (r *reader) acaRule(rule node, order int) {
	strange := r.strange(rule, "name", "match", "action")
	match, matches := r.mapping(rule, "match")
	action, acts := r.mapping(rule, "action")
	host := r.text(match, "host")
	if !matches || host == "" {
		host = "*"
	}
	egress, exact, broad := r.acaMatch(match, host)
	strange = strange || !exact
	name := r.text(rule, "name")
	if name == "" {
		name = host
	}
	if !acts {
		r.lose(rule, Narrows, "left out: a rule without an action", "write the rule by hand")
		r.acaDeny(rule, egress, order, "a rule without an action may refuse", false)
		return
	}
	kind := r.text(action, "type")
	switch kind {
	case "Allow", "Transform":
		if kind == "Transform" {
			r.lose(action, NoEquivalent, "the service changes headers of the request, and here the request goes out as the program sends it", "give the credential to a host tool")
		}
		switch {
		case !strange:
			r.acaPermit(rule, name, host, egress, order)
		case !exact && broad != "":
			r.lose(match, Narrows, "left out: "+broad, "name the paths that are needed")
		}
	case "Deny":
		if r.text(match, "scheme") == "" {
			egress.Ports = anything()
		}
		r.acaDeny(rule, egress, order, broad, true)
	case "Rewrite":
		r.lose(action, Narrows, "left out: the service sends the request to another destination", "name that destination in egress_rules, and have the program call it")
		r.acaDeny(rule, egress, order, "requests that are rewritten never reach this destination", false)
	default:
		r.lose(action, Narrows, "left out: nothing is known of the action "+sandbox.Echo(kind), "write the rule by hand")
		r.acaDeny(rule, egress, order, "an unknown action may refuse", false)
	}
}

// acaMatch reads host, path, methods and scheme. exact is false where a permission
// would become wider than it is; broad is why a denial becomes wider.
func (r *reader) acaMatch(match node, host string) (e sandbox.EgressRule, exact bool, broad string) {
	e = acaEgress(host)
	exact = !r.strange(match, "host", "path", "methods", "scheme", "normalizePath")
	switch r.word(match, "scheme", "http", "https", "any") {
	case "http":
		e.Ports = []string{"80"}
	case "https":
		e.Ports = []string{"443"}
	}
	if methods := r.texts(match, "methods"); len(methods) > 0 {
		e.Methods = methods
	}
	path, stated := match.field("path")
	if !stated {
		return e, exact, ""
	}
	c := coverPath(r.textOf(path))
	e.Paths = []string{c.prefix}
	switch {
	case !c.tight:
		return e, false, "its path pattern has no prefix of whole segments"
	case c.beyond != "":
		return e, exact, "its path stands for a whole prefix here"
	default:
		return e, exact, ""
	}
}

// acaPermit permits a host, and says what becomes of its stars.
func (r *reader) acaPermit(rule node, name, host string, e sandbox.EgressRule, order int) {
	switch {
	case host == "*":
		r.lose(rule, Narrows, "left out: any destination is permitted", openRemedy)
		return
	case strings.HasPrefix(host, "*."):
		r.lose(rule, Unknown, sandbox.Echo(host)+" covers names of any depth here; the service does not say how many labels its star covers", "name the hosts, if only one level is meant")
	}
	if match, ok := rule.field("match"); ok {
		if path, ok := match.field("path"); ok && match.value.Kind == yaml.MappingNode {
			r.below(path, coverPath(path.value.Value))
		}
	}
	r.permit(rule, name, e, order)
}

// below says that a path is carried as a prefix.
func (r *reader) below(path node, c cover) {
	if c.beyond != "" {
		r.lose(path, Widens, sandbox.Echo(path.value.Value)+" becomes "+sandbox.Echo(c.prefix)+" and all that is below it; "+sandbox.Echo(c.beyond)+" would become reachable", "")
	}
}

// connections marks the grants of rules about connections.
const connections = "connections"

const apartLists = "how rules about connections and about requests go together is not documented"

func isConnection(g *grant) bool { return g.within == connections }

func isRequest(g *grant) bool { return g.within != connections }

// acaDeny adds a denial of requests. An address is denied to connections too; any
// host is the end of a list, and says nothing of the other.
func (r *reader) acaDeny(at node, e sandbox.EgressRule, order int, broad string, asserts bool) {
	r.deny(at, e, order, broad, asserts)
	d := &r.denials[len(r.denials)-1]
	if d.rule.Host().IsAddress() {
		r.namesMayLeadTo(at, e.Host, Unknown)
	}
	d.applies = isRequest
	if d.everywhere || !d.rule.Host().IsAddress() {
		return
	}
	crossing := *d
	crossing.order, crossing.broad, crossing.applies, crossing.asserts = -1, apartLists, isConnection, false
	r.denials = append(r.denials, crossing)
}

// acaTransport reads rules about connections that are not HTTP.
func (r *reader) acaTransport(t node) {
	if t.value.Kind != yaml.MappingNode {
		r.fail(t.wrongType("a mapping"))
		return
	}
	r.strange(t, "defaultAction", "rules")
	if r.acaAction(t, "defaultAction") != "Deny" {
		r.lose(t, Narrows, "the default action for connections is Allow; only what rules permit is permitted here", openRemedy)
	}
	for i, rule := range r.mappings(t, "rules") {
		strange := r.strange(rule, "name", "action", "protocol", "destination", "port")
		e := sandbox.EgressRule{Host: r.text(rule, "destination"), Ports: anything(), Methods: anything(), Paths: anything()}
		if port, ok := rule.field("port"); ok {
			e.Ports = []string{r.textOf(port)}
		}
		udp := r.word(rule, "protocol", "Tcp", "Udp") == "Udp"
		action := r.acaAction(rule, "action")
		switch {
		case e.Host == "" || e.Host == "*":
			r.lose(rule, Narrows, "left out: connections to any address", openRemedy)
		case udp && action == "Allow":
			r.lose(rule, Narrows, "left out: UDP; rules are about TCP", "")
		case udp:
			// Refused here too: no rule permits UDP.
		case action == "Deny":
			r.deny(rule, e, i, "", true)
			r.denials[len(r.denials)-1].applies = isConnection
			if r.denials[len(r.denials)-1].rule.Host().IsAddress() {
				r.namesMayLeadTo(rule, e.Host, Unknown)
			}
			r.deny(rule, e, -1, apartLists, false)
			r.denials[len(r.denials)-1].applies = isRequest
		case !strange:
			r.permit(rule, r.text(rule, "name"), e, i)
			if n := len(r.grants); n > 0 && r.grants[n-1].at.value == rule.value {
				r.grants[n-1].within = connections
			}
		}
	}
}
