package translate

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// networkPolicies finds the one NetworkPolicy of a file. Objects of other kinds are
// passed over, and listed.
func (r *reader) networkPolicies(documents []node) {
	var objects, found []node
	for _, d := range documents {
		if r.text(d, "kind") == "List" {
			objects = append(objects, r.mappings(d, "items")...)
			continue
		}
		objects = append(objects, d)
	}
	for _, o := range objects {
		kind, version := r.text(o, "kind"), r.text(o, "apiVersion")
		if kind == "NetworkPolicy" && version == "networking.k8s.io/v1" {
			found = append(found, o)
			continue
		}
		r.elsewhere(o, "the object of kind "+sandbox.Echo(kind)+" in "+sandbox.Echo(version), "")
	}
	switch {
	case r.err != nil:
	case len(found) == 0:
		r.notThis(documents[0], "a NetworkPolicy of networking.k8s.io/v1", "give the file that holds one")
	case len(found) > 1:
		r.fail(documentError(sandbox.CodeDocumentType, nil, found[1].value.Line, strconv.Itoa(len(found))+" network policies",
			"one: which pods two of them share is not in the file", "import them one at a time"))
	default:
		r.networkPolicy(found[0])
	}
}

func (r *reader) networkPolicy(o node) {
	for name, value := range o.fields() {
		switch name {
		case "apiVersion", "kind", "spec":
		case "metadata":
			r.policy.Name = r.text(value, "name")
		case "status":
			r.elsewhere(value, name, "")
		default:
			r.unknown(value, name)
		}
	}
	spec, ok := r.mapping(o, "spec")
	if !ok {
		r.fail(documentError(sandbox.CodeMissing, o.path.Append(sandbox.Attr("spec")), o.value.Line, "no spec", "a spec", "give the whole object"))
		return
	}
	restricts := !spec.has("policyTypes") && spec.has("egress")
	for _, kind := range r.texts(spec, "policyTypes") {
		restricts = restricts || kind == "Egress"
	}
	for name, value := range spec.fields() {
		switch name {
		case "policyTypes", "egress":
		case "podSelector":
			r.elsewhere(value, name, "a policy holds for the workloads that name it")
		case "ingress":
			r.elsewhere(value, name, "nothing connects to a sandbox")
		default:
			r.unknown(value, name)
		}
	}
	if !restricts {
		r.lose(spec, Narrows, "without the type Egress the pods reach any destination; nothing is permitted here", openRemedy)
		return
	}
	for i, rule := range r.mappings(spec, "egress") {
		r.networkRule(rule, "rule "+strconv.Itoa(i+1))
	}
}

// networkRule reads one egress rule: any of its peers, on any of its ports.
func (r *reader) networkRule(rule node, name string) {
	if r.strange(rule, "to", "ports") {
		return
	}
	peers := r.mappings(rule, "to")
	if len(peers) == 0 {
		r.lose(rule, Narrows, "left out: a rule without peers permits any destination", openRemedy)
		return
	}
	ports, some := r.networkPorts(rule)
	for _, peer := range peers {
		block, isBlock := r.mapping(peer, "ipBlock")
		switch {
		case r.strange(peer, "ipBlock", "podSelector", "namespaceSelector"):
		case !isBlock, peer.has("podSelector"), peer.has("namespaceSelector"):
			r.lose(peer, Narrows, "left out: pods of the cluster, chosen by their labels", "name the hosts that the pods are reached by")
		case some:
			r.networkBlock(block, name, ports)
		}
	}
}

// networkPorts reads a rule's ports; none stated is all of them. some is false
// where nothing of what is stated can be written.
func (r *reader) networkPorts(rule node) (ports []string, some bool) {
	entries := r.mappings(rule, "ports")
	if len(entries) == 0 {
		r.lose(rule, Narrows, "UDP, SCTP and ICMP are left out; rules are about TCP", "")
		return anything(), true
	}
	for _, entry := range entries {
		if r.strange(entry, "port", "endPort", "protocol") {
			continue
		}
		if protocol := r.word(entry, "protocol", "TCP", "UDP", "SCTP"); protocol != "" && protocol != "TCP" {
			r.lose(entry, Narrows, "left out: "+protocol+"; rules are about TCP. Names are resolved outside the sandbox", "")
			continue
		}
		first, stated := entry.field("port")
		if !stated && entry.has("endPort") {
			r.fail(entry.wrongType("a port beside endPort"))
			return nil, false
		}
		if !stated {
			return anything(), true
		}
		port, ok := r.port(first)
		if !ok {
			r.lose(first, Narrows, "left out: port "+sandbox.Echo(first.value.Value)+", which only the pods can say the number of", "write its number")
			continue
		}
		text := strconv.Itoa(int(port))
		if last, ok := entry.field("endPort"); ok {
			end, ok := r.port(last)
			if !ok || end < port {
				r.fail(last.wrongType("a port from " + text + " to 65535"))
				return nil, false
			}
			if end > port {
				text += "-" + strconv.Itoa(int(end))
			}
		}
		ports = append(ports, text)
	}
	return unique(ports), len(ports) > 0
}

// networkBlock reads {cidr, except}. Each exception is taken out of the range.
func (r *reader) networkBlock(block node, name string, ports []string) {
	if r.strange(block, "cidr", "except") {
		return
	}
	if v, ok := block.field("except"); ok && v.value.Kind != yaml.SequenceNode {
		r.fail(v.wrongType("a list"))
		return
	}
	cidr, before := r.text(block, "cidr"), len(r.grants)
	excepts := r.list(block, "except")
	for _, v := range excepts {
		if !isRange(r.textOf(v)) {
			r.fail(v.wrongType("a range of addresses"))
			return
		}
	}
	if v, ok := block.field("cidr"); ok && !isRange(cidr) {
		r.fail(v.wrongType("a range of addresses"))
		return
	}
	r.permit(block, name, sandbox.EgressRule{Host: cidr, Ports: ports, Methods: anything(), Paths: anything()}, lastOrder)
	if len(r.grants) == before {
		return
	}
	r.rangeIsNumbers(block, cidr)
	for _, except := range excepts {
		r.deny(except, sandbox.EgressRule{Host: r.textOf(except), Ports: anything(), Methods: anything(), Paths: anything()}, 0, "", false)
		r.denials[len(r.denials)-1].applies = func(g *grant) bool { return g.from == block.value }
	}
}

func unique(texts []string) []string {
	seen := make(map[string]bool, len(texts))
	var all []string
	for _, t := range texts {
		if !seen[t] {
			seen[t] = true
			all = append(all, t)
		}
	}
	return all
}
