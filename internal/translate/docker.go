package translate

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// dockerElsewhere is where the parts of a kit that say nothing about the network
// belong.
var dockerElsewhere = map[string]string{
	"locked": "", "args": "",
	"security": "", "sandbox": "use image of sandbox_workload", "agent": "use image of sandbox_workload", "requires": "", "provides": "",
	"agentInstructions": "", "agentContext": "", "memory": "", "ports": "", "publishedPorts": "", "environment": "", "setup": "", "commands": "", "files": "",
	"volumes": "", "credentials": "give the credential to a host tool", "oauth": "give the credential to a host tool", "tmpfs": "",
}

// dockerDescribes are the names that describe a kit to people and tools.
var dockerDescribes = []string{"schemaVersion", "kind", "version", "displayName", "description", "sourceURL", "licenses"}

// docker reads a kit, a policy of the governance API, or one of its rules.
func (r *reader) docker(root node) {
	switch {
	case root.has("schemaVersion"):
		r.dockerKit(root)
	case root.has("rules"):
		r.dockerPolicy(root)
	case root.has("resources"):
		r.dockerRule(root)
	default:
		r.notThis(root, "a kit, or a policy of network rules", "give a kit's spec.yaml, or a policy as the governance API answers it")
	}
}

// dockerKit reads a kit of any schema version. Each has its permissions elsewhere.
func (r *reader) dockerKit(root node) {
	version := r.word(root, "schemaVersion", "1", "2", "3")
	for name, value := range root.fields() {
		remedy, listed := dockerElsewhere[name]
		switch {
		case slices.Contains(dockerDescribes, name):
		case name == "name":
			r.policy.Name = r.textOf(value)
		case version == "1" && name == "network":
			r.dockerNetwork(value, "allowedDomains", "deniedDomains")
		case version == "2" && name == "permissions":
			r.dockerPermissions(value)
		case version == "3" && name == "capabilities":
			r.dockerCapabilities(root)
		case name == "extends", name == "mixins":
			r.lose(value, Unknown, "other kits are named, and what they permit and deny is not in this file", "import those kits too")
		case listed:
			r.elsewhere(value, name, remedy)
		default:
			r.unknown(value, name)
		}
	}
}

func (r *reader) dockerPermissions(permissions node) {
	if permissions.value.Kind != yaml.MappingNode {
		r.fail(permissions.wrongType("a mapping"))
		return
	}
	for name, value := range permissions.fields() {
		if name == "network" {
			r.dockerNetwork(value, "allow", "deny")
			continue
		}
		r.unknown(value, name)
	}
}

// dockerCapabilities reads the network policies among a kit's capabilities. They
// hold while the kit is installed or while it runs.
func (r *reader) dockerCapabilities(root node) {
	for _, capability := range r.mappings(root, "capabilities") {
		kind := r.text(capability, "type")
		config, _ := r.mapping(capability, "config")
		switch {
		case kind == "com.docker.sandbox/network-policy@1":
			strange, before := r.strange(capability, "type", "config", "optional", "description"), len(r.grants)
			for phase, value := range config.fields() {
				switch phase {
				case "runtime":
					r.dockerNetwork(value, "allow", "deny")
				case "install":
					r.lose(value, Narrows, "left out: what may be reached while the kit is installed; a policy holds all the time", "have an image that needs no installing")
				default:
					r.unknown(value, phase)
				}
			}
			if strange {
				r.grants = r.grants[:before] // what it denies stays
			}
		case strings.HasPrefix(kind, "com.docker.sandbox/network"):
			r.unknown(capability, kind)
		default:
			r.elsewhere(capability, "capability "+sandbox.Echo(kind), "")
		}
	}
}

// dockerNetwork reads a kit's two lists. A denial goes before every permission.
func (r *reader) dockerNetwork(network node, allow, deny string) {
	if network.value.Kind != yaml.MappingNode {
		r.fail(network.wrongType("a mapping"))
		return
	}
	for name, value := range network.fields() {
		switch name {
		case allow, deny:
		case "publishedPorts", "serviceAuth", "serviceDomains":
			r.elsewhere(value, name, "give the credential to a host tool")
		default:
			r.unknown(value, name)
		}
	}
	portless := false
	for _, entry := range r.list(network, allow) {
		e, ported := dockerResource(r.textOf(entry))
		if !ported {
			e.Ports, portless = []string{"443"}, true
		}
		r.dockerPermit(entry, "", e)
	}
	if portless {
		at, _ := network.field(allow)
		r.lose(at, Narrows, "entries without a port are read as port 443, as the specification of kits says; the sandbox's own documentation says any port", "add rules for other ports that are needed")
	}
	for _, entry := range r.list(network, deny) {
		r.dockerDeny(entry, r.textOf(entry))
	}
}

// dockerPolicy reads a policy of the governance API.
func (r *reader) dockerPolicy(policy node) {
	for name, value := range policy.fields() {
		switch name {
		case "rules":
		case "name":
			r.policy.Name = r.textOf(value)
		case "id", "org", "orgId", "createdAt", "updatedAt", "created_at", "updated_at", "domain", "description":
		case "teams", "scope":
			r.elsewhere(value, name, "a policy holds for the workloads that name it")
		default:
			r.unknown(value, name)
		}
	}
	for _, rule := range r.mappings(policy, "rules") {
		r.dockerRule(rule)
	}
}

// dockerRule reads {name, actions, resources, decision}.
func (r *reader) dockerRule(rule node) {
	strange := r.strange(rule, "id", "name", "actions", "resources", "decision", "description", "createdAt", "updatedAt")
	name, decision := r.text(rule, "name"), r.word(rule, "decision", "allow", "deny")
	tcp, other := r.dockerActions(rule)
	if decision == "" {
		r.lose(rule, Narrows, "left out: a rule without a decision, which may be a denial", "write the rule by hand")
	}
	for _, resource := range r.list(rule, "resources") {
		text := r.textOf(resource)
		switch {
		case decision == "allow" && tcp && !strange:
			e, _ := dockerResource(text)
			r.dockerPermit(resource, name, e)
		case decision != "allow" && (tcp || !other):
			r.dockerDeny(resource, text)
		}
	}
}

// dockerActions reports whether a rule is about TCP, and whether it is only about
// something that is known and is not TCP.
func (r *reader) dockerActions(rule node) (tcp, other bool) {
	actions := r.list(rule, "actions")
	other = len(actions) > 0
	for _, action := range actions {
		switch text := r.textOf(action); text {
		case "connect:tcp":
			tcp = true
		case "connect:udp":
			r.lose(action, Narrows, "UDP is left out; rules are about TCP", "")
		case "read", "write":
			r.elsewhere(action, "the file system", "")
		default:
			other = false
			r.unknown(action, text)
		}
	}
	return tcp, other
}

func (r *reader) dockerPermit(entry node, name string, e sandbox.EgressRule) {
	suffix, deep := strings.CutPrefix(e.Host, "**.")
	switch {
	case deep:
		e.Host = "*." + suffix
	case strings.Trim(e.Host, "*") == "":
		r.lose(entry, Narrows, "left out: any destination is permitted", openRemedy)
		return
	case strings.HasPrefix(e.Host, "*."):
		r.lose(entry, Narrows, "left out: "+sandbox.Echo(e.Host)+" covers one label there and any number here", "name the hosts, or add it to egress_hosts if any depth is meant")
		return
	}
	if name == "" {
		name = strings.TrimPrefix(e.Host, "*.")
	}
	r.permit(entry, name, e, lastOrder)
	r.rangeIsNumbers(entry, e.Host)
}

// rangeIsNumbers says that an address rule is about requests that name the address.
func (r *reader) rangeIsNumbers(at node, host string) {
	if n := len(r.grants); n > 0 && r.grants[n-1].at.value == at.value && r.grants[n-1].rule.Host().IsAddress() {
		r.lose(at, Narrows, "requests that name an address of "+sandbox.Echo(host)+" are permitted; names that lead there are not", "name the hosts too")
	}
}

// dockerDeny adds a denial. One label is denied as any number of them, since a
// denial may take more.
func (r *reader) dockerDeny(entry node, text string) {
	e, _ := dockerResource(text)
	broad := ""
	suffix, deep := strings.CutPrefix(e.Host, "**.")
	switch {
	case deep:
		e.Host = "*." + suffix
	case strings.Trim(e.Host, "*") == "":
		e.Host = "*"
	case strings.HasPrefix(e.Host, "*."):
		broad = "it covers one label there and any number here"
	}
	r.deny(entry, e, 0, broad, true)
	if n := len(r.denials); r.denials[n-1].rule.Host().IsAddress() {
		r.namesMayLeadTo(entry, text, Widens)
	}
}

// dockerResource parts a resource into a host and its ports. Without a port it is
// any port, and ported is false.
func dockerResource(text string) (e sandbox.EgressRule, ported bool) {
	e = sandbox.EgressRule{Host: text, Ports: anything(), Methods: anything(), Paths: anything()}
	at := strings.LastIndexByte(text, ':')
	inner, bracketed := strings.CutPrefix(text, "[")
	switch {
	case at < 0:
		return e, false
	case bracketed:
		host, rest, closed := strings.Cut(inner, "]")
		if !closed {
			return e, false // the grammar says what is wrong with it
		}
		e.Host = host
		if port, ok := strings.CutPrefix(rest, ":"); ok {
			e.Ports = []string{port}
			return e, true
		}
		return e, false
	case strings.IndexByte(text, ':') != at:
		return e, false // an IPv6 address or range
	default:
		e.Host, e.Ports = text[:at], []string{text[at+1:]}
		return e, true
	}
}
