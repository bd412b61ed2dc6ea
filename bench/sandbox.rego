# The decision for OPA: the same questions, with the same codes. Policies and
# backends are data; the workload is the input. Every question is asked, as in the
# engine that it is compared with.
package sandbox

policy := data.policies[input.policy]

backend := data.backends[input.backend]

workload := input.workload

deny contains "capability.denied" if {
	some c in workload.requires
	c in policy.denied_capabilities
}

deny contains "identity.denied" if {
	some i in workload.identities
	i in policy.denied_identities
}

deny contains "isolation.below_floor" if backend.rung < policy.floor

deny contains "isolation.below_floor" if backend.rung < workload.floor

deny contains "capability.missing" if {
	some c in workload.requires
	not c in backend.capabilities
}

deny contains "os_family.not_supported" if {
	workload.os_family != ""
	not workload.os_family in backend.os_families
}

deny contains "limits.over_ceiling" if over(workload.files_in, backend.files_in)

deny contains "limits.over_ceiling" if over(workload.files_in, policy.files_in)

deny contains "limits.over_ceiling" if over(workload.files_out, backend.files_out)

deny contains "limits.over_ceiling" if over(workload.files_out, policy.files_out)

deny contains "egress.not_enforced" if not workload.mode in backend.modes

deny contains "egress.not_within_policy" if {
	some rule in workload.rules
	not within(rule)
}

deny contains "egress.guarantee_missing" if {
	some g in policy.guarantees
	not g in backend.guarantees
}

deny contains "scope.not_enforced" if not workload.scope in backend.scopes

over(ask, ceiling) if ask.file > ceiling.file

over(ask, ceiling) if ask.total > ceiling.total

over(ask, ceiling) if ask.files > ceiling.files

# A rule is within the policy when one rule of the policy covers it. That is exact
# here, since no two rules of a policy cover the same host.
within(rule) if {
	some key in rule.keys
	bound := policy.rules[key]
	ports_within(rule, bound)
	methods_within(rule, bound)
	paths_within(rule, bound)
}

ports_within(rule, bound) if {
	every p in rule.ports {
		some q in bound.ports
		q.first <= p.first
		p.last <= q.last
	}
}

methods_within(_, bound) if bound.methods == null

methods_within(rule, bound) if {
	rule.methods != null
	every m in rule.methods {
		m in bound.methods
	}
}

paths_within(_, bound) if bound.paths == null

paths_within(rule, bound) if {
	rule.paths != null
	every p in rule.paths {
		some prefix in bound.paths
		startswith(concat("", [p, "/"]), concat("", [prefix, "/"]))
	}
}
