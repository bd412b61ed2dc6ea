package conformance

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

func missingCapabilities() []refusal {
	const missing = "capability.missing at requires"
	silent := func(w *World) { w.Backend.Capabilities = nil }
	address := func(w *World) {
		w.Policy.Egress.Hosts = append(w.Policy.Egress.Hosts, "10.0.0.0/8")
		w.Workload.Egress.Hosts = append(w.Workload.Egress.Hosts, "10.1.0.0/16")
	}
	return []refusal{
		{
			"a capability that the backend lacks", requiring(sandbox.CapabilityRunCode),
			[]string{missing},
			"one that it offers", requiring(sandbox.CapabilitySnapshot), nil,
		},
		{
			"a backend that lacks what is required", lacking(sandbox.CapabilityFilesIn),
			[]string{missing},
			"one that lacks what is not", lacking(sandbox.CapabilityFilesDelete), nil,
		},
		{
			"a backend that says nothing of capabilities", silent,
			[]string{missing},
			"it is read as offering the default", then(silent, func(w *World) { w.Workload.Requires = nil }), nil,
		},
		{
			"a backend that offers nothing", func(w *World) { none := sandbox.CapabilitySet{}; w.Backend.Capabilities = &none },
			[]string{missing},
			"nothing is required of it", then(requiringOnly(), func(w *World) { none := sandbox.CapabilitySet{}; w.Backend.Capabilities = &none }), nil,
		},
		{
			"a rule's path needs what the backend lacks",
			then(asking(api()), lacking(sandbox.CapabilityEgressPaths)),
			[]string{missing},
			"hosts need nothing", lacking(sandbox.CapabilityEgressPorts, sandbox.CapabilityEgressMethods, sandbox.CapabilityEgressPaths, sandbox.CapabilityEgressAddresses), nil,
		},
		{
			"an address needs what the backend lacks", then(address, lacking(sandbox.CapabilityEgressAddresses)),
			[]string{missing},
			"an address where the backend has it", address, nil,
		},
	}
}

func methodTokens() []refusal {
	tokens := func(t ...string) change {
		return func(w *World) { w.Backend.MethodTokens = t }
	}
	return []refusal{
		{
			"a method that the backend cannot tell apart", then(asking(api()), tokens("POST", "PUT")),
			[]string{"egress.method_not_supported at egress_rules"},
			"one that it can", then(asking(api()), tokens("POST", "GET")), nil,
		},
		{
			"a backend that tells no method apart", then(asking(api()), tokens([]string{}...)),
			[]string{"egress.method_not_supported at egress_rules"},
			"no rule names a method", tokens([]string{}...), nil,
		},
	}
}

func osFamilies() []refusal {
	wants := func(f sandbox.OSFamily) change { return func(w *World) { w.Workload.OSFamily = f } }
	has := func(f ...sandbox.OSFamily) change {
		return func(w *World) { w.Backend.OSFamilies = sandbox.SetOf(f...) }
	}
	const unsupported = "os_family.not_supported at os_family"
	return []refusal{
		{
			"a family that the backend does not have", wants(sandbox.OSFamilyWindows),
			[]string{unsupported},
			"one that it has", wants(sandbox.OSFamilyPOSIX), nil,
		},
		{
			"a backend that is silent about families", then(wants(sandbox.OSFamilyPOSIX), has()),
			[]string{unsupported},
			"it is silent and nobody asks", has(), nil,
		},
	}
}

func programChannels() []refusal {
	const missing = "program.channel_missing at program_profile"
	wants := func(w *World) { w.Workload.ProgramProfile = "python" }
	has := func(c sandbox.ProgramChannel) change {
		return func(w *World) {
			c.Name, c.Profiles = "shell", []string{"python"}
			w.Backend.ProgramChannels = []sandbox.ProgramChannel{{Name: "other", Profiles: []string{"bicep"}}, c}
		}
	}
	needs := func(c sandbox.Capability) change { return has(sandbox.ProgramChannel{Needs: sandbox.SetOf(c)}) }
	return []refusal{
		{
			"a profile that no channel serves", wants,
			[]string{missing},
			"a profile that one serves", then(wants, has(sandbox.ProgramChannel{})), nil,
		},
		{
			"a channel that does not carry host tools",
			then(wants, has(sandbox.ProgramChannel{}), requiring(sandbox.CapabilityHostTools)),
			[]string{missing},
			"one that does", then(wants, has(sandbox.ProgramChannel{HostTools: true}), requiring(sandbox.CapabilityHostTools)), nil,
		},
		{
			"a channel that needs what the backend lacks", then(wants, needs(sandbox.CapabilityRunCode)),
			[]string{missing},
			"one that needs what it has", then(wants, needs(sandbox.CapabilitySnapshot)), nil,
		},
		{
			"a channel that needs what is denied",
			then(wants, needs(sandbox.CapabilitySnapshot), denying(sandbox.CapabilitySnapshot)),
			[]string{missing},
			"something else is denied", then(wants, needs(sandbox.CapabilitySnapshot), denying(sandbox.CapabilityHostTools)), nil,
		},
	}
}

func transferLimits() []refusal {
	const in, out = "limits.over_ceiling at files_in_limits", "limits.over_ceiling at files_out_limits"
	ask := func(l *sandbox.TransferLimits) change { return func(w *World) { w.Workload.FilesIn = l } }
	askOut := func(l *sandbox.TransferLimits) change { return func(w *World) { w.Workload.FilesOut = l } }
	larger := sandbox.TransferLimits{MaxBytesPerFile: 1 << 40, MaxTotalBytes: 1 << 40, MaxFiles: 1 << 20}
	return []refusal{
		{
			"one file in more than a silent backend takes", ask(limitsOf(65)),
			[]string{in},
			"as many as it takes", ask(limitsOf(64)), nil,
		},
		{
			"one file out more than a silent backend takes", askOut(limitsOf(65)),
			[]string{out},
			"as many as it takes, out", askOut(limitsOf(64)), nil,
		},
		{
			"more bytes a file than the backend takes", ask(&sandbox.TransferLimits{MaxBytesPerFile: 8<<20 + 1}),
			[]string{in},
			"a backend that takes more", then(ask(limitsOf(65)), func(w *World) { w.Backend.FilesIn = &larger }), nil,
		},
		{
			"more bytes in all than the backend takes", askOut(&sandbox.TransferLimits{MaxTotalBytes: 32<<20 + 1}),
			[]string{out},
			"nothing at all", askOut(&sandbox.TransferLimits{}), nil,
		},
		{
			"the default is over the policy's ceiling", func(w *World) { w.Policy.FilesOut = limitsOf(63) },
			[]string{out},
			"the default is the policy's ceiling", func(w *World) { w.Policy.FilesOut = limitsOf(64) }, nil,
		},
		{
			"in and out over the ceilings, in this order", func(w *World) { w.Policy.FilesOut, w.Backend.FilesIn = limitsOf(1), limitsOf(1) },
			[]string{in, out},
			"a policy that would permit more than the backend takes", func(w *World) { w.Policy.FilesIn, w.Policy.FilesOut = &larger, &larger }, nil,
		},
		{
			"over the backend's and the policy's ceiling", func(w *World) { w.Policy.FilesIn, w.Backend.FilesIn = limitsOf(1), limitsOf(1) },
			[]string{in, in},
			"within both", func(w *World) {
				w.Policy.FilesIn, w.Backend.FilesIn, w.Workload.FilesIn = limitsOf(1), limitsOf(2), limitsOf(1)
			}, nil,
		},
	}
}

func isolationScopes() []refusal {
	const wide = "scope.not_enforced at isolation_scope"
	keeps := func(s ...sandbox.IsolationScope) change {
		return func(w *World) { w.Backend.IsolationScopes = sandbox.SetOf(s...) }
	}
	both := keeps(sandbox.ScopeConversation, sandbox.ScopeCall)
	policy := func(w *World) { w.Policy.MinimumIsolationScope = sandbox.ScopeCall }
	workload := func(w *World) { w.Workload.IsolationScope = sandbox.ScopeCall }
	return []refusal{
		{
			"the policy wants calls apart", policy,
			[]string{wide},
			"the backend keeps them apart", then(policy, both), nil,
		},
		{
			"the workload wants calls apart", workload,
			[]string{wide},
			"the workload wants conversations apart", func(w *World) { w.Workload.IsolationScope = sandbox.ScopeConversation }, nil,
		},
		{
			"the workload cannot widen the policy's scope",
			then(policy, func(w *World) { w.Workload.IsolationScope = sandbox.ScopeConversation }),
			[]string{wide},
			"a backend that keeps both apart, and nobody asks", both, nil,
		},
		{
			"a backend that only keeps calls apart", keeps(sandbox.ScopeCall),
			[]string{wide},
			"calls apart on it", then(keeps(sandbox.ScopeCall), workload), nil,
		},
	}
}
