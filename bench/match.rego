# One request against a list of rules, for OPA, in two ways.
package match

# The rules are an object by host; the request comes with the texts under which a
# rule that covers its host can be found.
by_key if {
	some key in input.keys
	admits(data.by_host[key])
}

# The rules are a list, and every one is looked at until one admits.
by_scan if {
	some rule in data.list
	covers(rule)
	admits(rule)
}

covers(rule) if rule.host == input.host

covers(rule) if {
	startswith(rule.host, "*.")
	endswith(input.host, substring(rule.host, 1, -1))
}

admits(rule) if {
	some p in rule.ports
	p.first <= input.port
	input.port <= p.last
	method(rule)
	path(rule)
}

method(rule) if rule.methods == null

method(rule) if input.method in rule.methods

path(rule) if rule.paths == null

path(rule) if {
	some prefix in rule.paths
	startswith(concat("", [input.path, "/"]), concat("", [prefix, "/"]))
}
