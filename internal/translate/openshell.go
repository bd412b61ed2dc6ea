package translate

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// openShell reads a sandbox policy of OpenShell, version 1.
func (r *reader) openShell(root node) {
	version, ok := root.field("version")
	if text, _ := version.scalar(); !ok || text != "1" {
		r.fail(documentError(sandbox.CodeDocumentVersion, sandbox.Path("version"), root.value.Line, "no version 1", "version: 1", "give a policy of OpenShell"))
		return
	}
	for name, value := range root.fields() {
		switch name {
		case "version", "network_policies":
		case "filesystem_policy", "landlock":
			r.elsewhere(value, name, "a sandbox has a file system of its own")
		case "process":
			r.elsewhere(value, name, `image_user = "non_root" bounds the image's user`)
		case "network_middlewares":
			for middleware, at := range value.fields() {
				r.lose(at, Widens, "middleware "+sandbox.Echo(middleware)+" may stop or change requests that rules permit; nothing does here", "")
			}
		default:
			r.unknown(value, name)
		}
	}
	policies, _ := r.mapping(root, "network_policies")
	for name, policy := range policies.fields() {
		if policy.value.Kind != yaml.MappingNode {
			r.fail(policy.wrongType("a mapping"))
			return
		}
		r.shellPolicy(policy, name)
	}
}

// shellPolicy reads {name, endpoints, binaries}.
func (r *reader) shellPolicy(policy node, name string) {
	strange := r.strange(policy, "name", "endpoints", "binaries")
	endpoints := r.mappings(policy, "endpoints")
	if len(endpoints) == 0 {
		return
	}
	var programs []string
	for _, binary := range r.mappings(policy, "binaries") {
		strange = r.strange(binary, "path", "harness") || strange
		programs = append(programs, r.text(binary, "path"))
	}
	switch {
	case strange:
		// Its permissions are left out, and what it denies to others is not.
	case len(programs) == 0:
		r.lose(policy, NoEquivalent, "left out: a rule without binaries is no program's, and permits nothing", "")
		return
	case !slices.Contains(programs, "/**"):
		at, _ := policy.field("binaries")
		r.lose(at, Widens, "every program in the sandbox is permitted this, not only "+quoted(programs), "give programs that must not have it a workload of their own")
	}
	for _, endpoint := range endpoints {
		r.shellEndpoint(endpoint, name, strange)
	}
}

// endpoint is a destination of OpenShell with what selects it.
type endpoint struct {
	at    node
	name  string
	hosts []string
	ports []string
	// selector is the prefix below which the endpoint decides, "*" for any.
	selector string
	// silent: what it permits is left out. It still denies.
	silent bool
}

// shellIgnored are the names of an endpoint that are about credentials and about
// how requests are inspected.
var shellIgnored = []string{
	"tls", "credential_binding", "request_body_credential_rewrite", "websocket_credential_rewrite", "allow_uninspected_credentials",
	"credential_signing", "signing_service", "signing_region", "persisted_queries", "graphql_persisted_queries", "graphql_max_body_bytes", "mcp", "json_rpc",
}

var shellRead = []string{
	"host", "path", "port", "ports", "protocol", "enforcement", "access", "rules", "deny_rules", "allowed_ips", "allow_encoded_slash",
}

func (r *reader) shellEndpoint(n node, name string, silent bool) {
	silent = r.strange(n, slices.Concat(shellRead, shellIgnored)...) || silent
	for field, value := range n.fields() {
		switch {
		case slices.Contains(shellIgnored, field):
			r.elsewhere(value, field, "")
		case field == "allow_encoded_slash":
			r.lose(value, Narrows, "paths with an escaped slash are refused wherever methods or paths are judged", "")
		}
	}
	e := endpoint{at: n, name: name, silent: silent}
	if !r.shellDestination(&e) {
		return
	}
	r.shellSelector(&e)
	switch protocol := r.text(n, "protocol"); protocol {
	case "", "tcp":
		if n.has("access") || n.has("rules") || n.has("deny_rules") {
			r.lose(n, Narrows, "OpenShell does not hold requests against rules without protocol: rest; here they are", "")
			r.shellRequests(&e)
			return
		}
		r.shellPermit(&e, anything(), []string{e.selector})
	case "rest":
		if r.word(n, "enforcement", "enforce", "audit") != "enforce" {
			r.lose(n, Narrows, "without enforcement: enforce OpenShell only writes down what breaks the rules; here it is refused", "")
		}
		r.shellRequests(&e)
	default:
		r.lose(n, Narrows, "left out: what protocol "+sandbox.Echo(protocol)+" permits is inside the requests, which rules do not judge", "permit the host whole, if that is meant")
	}
}

// shellDestination reads host, ports and allowed_ips.
func (r *reader) shellDestination(e *endpoint) bool {
	ports := r.list(e.at, "ports")
	if port, ok := e.at.field("port"); ok && len(ports) == 0 {
		ports = []node{port}
	}
	for _, v := range ports {
		port, ok := r.port(v)
		if !ok {
			r.fail(v.wrongType("a port from 1 to 65535"))
			return false
		}
		e.ports = append(e.ports, strconv.Itoa(int(port)))
	}
	e.ports = unique(e.ports)
	if len(e.ports) == 0 {
		r.lose(e.at, Narrows, "left out: an endpoint without ports", "")
		return false
	}
	host, addresses := r.text(e.at, "host"), r.texts(e.at, "allowed_ips")
	for i, address := range addresses {
		if at, _ := e.at.field("allowed_ips"); !isRange(address) {
			r.fail(at.at(i).wrongType("an address or a range of addresses"))
			return false
		}
	}
	suffix, deep := strings.CutPrefix(host, "**.")
	switch {
	case host == "" && len(addresses) > 0:
		e.hosts = addresses
		at, _ := e.at.field("allowed_ips")
		r.lose(at, Narrows, "requests that name one of these addresses are permitted; names that lead there are not", "name the hosts too")
		return true
	case deep:
		e.hosts = []string{"*." + suffix}
	case strings.Contains(host, "*"):
		r.lose(e.at, Narrows, "left out: "+sandbox.Echo(host)+" covers one label there; a star here covers any number, and stands first", "name the hosts, or add *. and the suffix if any depth is meant")
		e.hosts, e.silent = []string{around(host)}, true
	default:
		e.hosts = []string{host}
	}
	if at, ok := e.at.field("allowed_ips"); ok && len(addresses) > 0 {
		r.lose(at, Widens, "the name may lead to any public address, not only to "+quoted(addresses), "")
	}
	return true
}

// around is a pattern of this product that covers all that a pattern with stars
// does, "*" for any host.
func around(pattern string) string {
	_, suffix, ok := strings.Cut(pattern[strings.LastIndexByte(pattern, '*')+1:], ".")
	if !ok {
		return "*"
	}
	return "*." + suffix
}

// shellSelector reads the path by which an endpoint is chosen among those of one
// destination. The most specific one decides alone, so its paths are denied to the
// others.
func (r *reader) shellSelector(e *endpoint) {
	e.selector = "*"
	path, ok := e.at.field("path")
	if !ok {
		return
	}
	c := coverPath(r.textOf(path))
	broad := ""
	switch {
	case c.tight && strings.HasSuffix(path.value.Value, "/**"):
		// "/v1/**" selects /v1 too, which is what a prefix is.
	case c.tight:
		r.below(path, c)
	default:
		broad = "its path pattern has no prefix of whole segments"
	}
	e.selector = c.prefix
	if c.prefix != "*" || !c.tight {
		for _, host := range e.hosts {
			r.deny(path, sandbox.EgressRule{Host: host, Ports: e.ports, Methods: anything(), Paths: []string{c.prefix}}, 0, broad, false)
			own := *e
			r.denials[len(r.denials)-1].applies = func(g *grant) bool {
				return g.from != own.at.value && (!c.tight || g.within == "*" || g.within != own.selector && below(own.selector, g.within))
			}
		}
	}
	if !c.tight {
		r.lose(path, Narrows, "left out: the pattern "+sandbox.Echo(path.value.Value)+" has no prefix of whole segments", "write the endpoint by hand")
		e.silent = true
	}
}

// presets are the methods of OpenShell's access presets.
var presets = map[string][]string{
	"read-only":  {"GET", "HEAD", "OPTIONS"},
	"read-write": {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH"},
	"full":       {"*"},
}

// shellRequests reads what an endpoint says of requests: a preset or rules, and
// denials.
func (r *reader) shellRequests(e *endpoint) {
	for _, rule := range r.mappings(e.at, "deny_rules") {
		r.shellDeny(e, rule)
	}
	if preset := r.word(e.at, "access", "read-only", "read-write", "full"); preset != "" {
		if rules, ok := e.at.field("rules"); ok {
			r.fail(documentError(sandbox.CodeDocumentType, rules.path, rules.value.Line, "rules beside access", "one of the two", "remove one of the two"))
			return
		}
		r.shellPermit(e, presets[preset], []string{e.selector})
		return
	}
	methods := map[string][]string{} // by path
	var order []string
	for _, rule := range r.mappings(e.at, "rules") {
		allow, ok := r.mapping(rule, "allow")
		if r.strange(rule, "allow") || !ok {
			continue
		}
		method, path, ok := r.shellAllow(e, allow)
		if !ok {
			continue
		}
		if _, known := methods[path]; !known {
			order = append(order, path)
		}
		methods[path] = append(methods[path], method)
	}
	r.shellGroups(e, order, methods)
}

// shellGroups permits paths that have the same methods together.
func (r *reader) shellGroups(e *endpoint, order []string, methods map[string][]string) {
	paths := map[string][]string{} // by methods
	var groups []string
	for _, path := range order {
		of := unique(methods[path])
		slices.Sort(of)
		if slices.Contains(of, "*") {
			of = anything()
		}
		key := strings.Join(of, " ")
		if _, known := paths[key]; !known {
			groups = append(groups, key)
		}
		paths[key] = append(paths[key], path)
	}
	for _, key := range groups {
		under := paths[key]
		if slices.Contains(under, "*") {
			under = anything()
		}
		r.shellPermit(e, strings.Split(key, " "), under)
	}
}

// shellAllow reads one allow rule: its method and its path within the endpoint's.
func (r *reader) shellAllow(e *endpoint, allow node) (method, path string, ok bool) {
	if r.strange(allow, "method", "path") {
		return "", "", false
	}
	method = r.text(allow, "method")
	pattern, stated := allow.field("path")
	if method == "" || !stated {
		r.lose(allow, Narrows, "left out: a rule without method and path", "")
		return "", "", false
	}
	c := coverPath(r.textOf(pattern))
	if !c.tight {
		r.lose(pattern, Narrows, "left out: the pattern "+sandbox.Echo(pattern.value.Value)+" has no prefix of whole segments", "name the paths that are needed")
		return "", "", false
	}
	switch {
	case e.selector == "*" || c.prefix != "*" && below(c.prefix, e.selector):
	case c.stars > 1 && (c.prefix == "*" || below(e.selector, c.prefix)):
		c = cover{prefix: e.selector, tight: true}
	case c.stars == 1 && below(e.selector, c.prefix):
		c = cover{prefix: e.selector, tight: true, beyond: e.selector + "/x"}
	default:
		return "", "", false // the endpoint is never chosen for it
	}
	r.below(pattern, c)
	return method, c.prefix, true
}

// shellDeny reads one deny rule. What it asks beyond method and path makes it deny
// less, and is left out of the denial. It holds among the endpoints that are chosen
// by the same path.
func (r *reader) shellDeny(e *endpoint, rule node) {
	broad := ""
	for name := range rule.fields() {
		if name != "method" && name != "path" {
			broad = "it denies only some of these requests, by " + sandbox.Echo(name)
		}
	}
	methods := anything()
	if method := r.text(rule, "method"); method != "" {
		methods = []string{method}
	}
	path := e.selector
	if pattern, ok := rule.field("path"); ok {
		c := coverPath(r.textOf(pattern))
		if c.beyond != "" || !c.tight {
			broad = "its path stands for a whole prefix here"
		}
		if c.prefix != "*" {
			path = c.prefix
		}
	}
	for _, host := range e.hosts {
		r.deny(rule, sandbox.EgressRule{Host: host, Ports: e.ports, Methods: methods, Paths: []string{path}}, 0, broad, false)
		selector := e.selector
		r.denials[len(r.denials)-1].applies = func(g *grant) bool { return g.within == selector }
	}
}

func (r *reader) shellPermit(e *endpoint, methods, paths []string) {
	if e.silent {
		return
	}
	for _, host := range e.hosts {
		before := len(r.grants)
		r.permit(e.at, e.name, sandbox.EgressRule{Host: host, Ports: e.ports, Methods: methods, Paths: unique(paths)}, lastOrder)
		for i := before; i < len(r.grants); i++ {
			r.grants[i].from, r.grants[i].within = e.at.value, e.selector
		}
	}
}
