package conformance

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

func deniedCapabilities() []refusal {
	methods := asking(api())
	port := sandbox.EgressRule{Host: "a.files.example.org", Ports: []string{"8443"}, Methods: []string{"*"}, Paths: []string{"*"}}
	return []refusal{
		{
			"a required capability is denied", denying(sandbox.CapabilityFilesOut),
			[]string{"capability.denied at requires"},
			"a denied capability that nobody requires", denying(sandbox.CapabilityHostTools), nil,
		},
		{
			"every required capability is denied", denying(sandbox.Capabilities()...),
			[]string{"capability.denied at requires"},
			"nothing is required", then(denying(sandbox.CapabilityExec, sandbox.CapabilityFilesIn), requiringOnly()), nil,
		},
		{
			"a capability that the default requires is denied",
			then(denying(sandbox.CapabilityExec), func(w *World) { w.Workload.Requires = nil }),
			[]string{"capability.denied at requires"},
			"one that the default does not require is denied",
			then(denying(sandbox.CapabilityFilesOut), func(w *World) { w.Workload.Requires = nil }), nil,
		},
		{
			"a capability that a rule's methods need is denied",
			then(denying(sandbox.CapabilityEgressMethods), methods),
			[]string{"capability.denied at requires"},
			"the same without rules", denying(sandbox.CapabilityEgressMethods), nil,
		},
		{
			"a capability that a rule's port needs is denied",
			then(denying(sandbox.CapabilityEgressPorts), asking(port), func(w *World) {
				w.Policy.Egress.Rules["wide"] = sandbox.EgressRule{Host: "*.files.example.org", Ports: []string{"*"}, Methods: []string{"*"}, Paths: []string{"*"}}
			}),
			[]string{"capability.denied at requires"},
			"a rule that needs other capabilities", then(denying(sandbox.CapabilityEgressPorts), methods), nil,
		},
	}
}

func deniedIdentities() []refusal {
	denies := func(ids ...sandbox.Identity) change {
		return func(w *World) { w.Policy.DeniedIdentities = sandbox.SetOf(ids...) }
	}
	return []refusal{
		{
			"the application's authority is denied",
			then(denies(sandbox.IdentityApp), acting(sandbox.IdentityApp)),
			[]string{"identity.denied at identities"},
			"another authority is denied", then(denies(sandbox.IdentityApp), acting(sandbox.IdentityUser)), nil,
		},
		{
			"one of two authorities is denied",
			then(denies(sandbox.IdentityUser), acting(sandbox.IdentityApp, sandbox.IdentityUser)),
			[]string{"identity.denied at identities"},
			"both are denied and no tool acts", denies(sandbox.IdentityApp, sandbox.IdentityUser), nil,
		},
	}
}

func attachedIdentity() []refusal {
	policyBound := func(s sandbox.IdentityScope) change {
		return func(w *World) { w.Policy.MaximumIdentityScope = s }
	}
	bounds := func(s sandbox.IdentityScope, seconds int64) change {
		return func(w *World) {
			w.Workload.MaximumIdentityScope, w.Workload.IdentityRetentionSeconds = s, seconds
		}
	}
	return []refusal{
		{
			"an identity that neither the policy nor the workload asks for", attaching,
			[]string{"identity.attached_not_permitted at backend", "identity.attached_not_permitted at requires"},
			"an identity within every bound", attached, nil,
		},
		{
			"an identity is shared wider than the policy permits",
			then(attached, policyBound(sandbox.IdentityScopePerSandbox)),
			[]string{"identity.attached_not_permitted at backend"},
			"one that is shared less than the policy permits", then(attached, policyBound(sandbox.IdentityScopeShared)), nil,
		},
		{
			"an identity that the workload requires and the policy is silent about",
			then(attached, policyBound(sandbox.IdentityScopeUnspecified)),
			[]string{"identity.attached_not_permitted at backend"},
			"", nil, nil,
		},
		{
			"the policy permits none", then(attached, policyBound(sandbox.IdentityScopeNone)),
			[]string{"identity.attached_not_permitted at backend"},
			"the policy permits none and none is attached", policyBound(sandbox.IdentityScopeNone), nil,
		},
		{
			"an identity that the workload does not require",
			then(attaching, policyBound(sandbox.IdentityScopeShared)),
			[]string{"identity.attached_not_permitted at requires"},
			"", nil, nil,
		},
		{
			"an identity is shared wider than the workload permits",
			then(attached, bounds(sandbox.IdentityScopePerSandbox, 60)),
			[]string{"identity.attached_not_permitted at maximum_identity_scope"},
			"one that is shared less than the workload permits", then(attached, bounds(sandbox.IdentityScopeShared, 60)), nil,
		},
		{
			"an identity is kept a second too long",
			then(attached, bounds(sandbox.IdentityScopePerScope, 59)),
			[]string{"identity.attached_not_permitted at identity_retention_seconds"},
			"one that may be kept a second longer", then(attached, bounds(sandbox.IdentityScopePerScope, 61)), nil,
		},
	}
}

func isolationFloor() []refusal {
	const below = "isolation.below_floor at backend"
	return []refusal{
		{
			"a backend one rung below the floor", func(w *World) { w.Backend.Isolation = sandbox.IsolationOSProcess },
			[]string{below},
			"a backend at the floor", func(w *World) { w.Backend.Isolation = sandbox.IsolationContainer }, nil,
		},
		{
			"the policy's floor is one rung above the backend", func(w *World) { w.Policy.MinimumIsolation = sandbox.IsolationMicroVM },
			[]string{below},
			"the policy's floor is the backend's rung", func(w *World) { w.Policy.MinimumIsolation = sandbox.IsolationHardenedContainer }, nil,
		},
		{
			"the workload raises the floor", func(w *World) { w.Workload.MinimumIsolation = sandbox.IsolationVM },
			[]string{below},
			"the workload raises it to the backend's rung", func(w *World) { w.Workload.MinimumIsolation = sandbox.IsolationHardenedContainer }, nil,
		},
		{
			"the workload cannot lower the floor", func(w *World) {
				w.Workload.MinimumIsolation = sandbox.IsolationNone
				w.Backend.Isolation = sandbox.IsolationRuntime
			},
			[]string{below},
			"the workload's lower floor changes nothing", func(w *World) { w.Workload.MinimumIsolation = sandbox.IsolationNone }, nil,
		},
		{
			"nobody states a floor", func(w *World) { w.Policy.MinimumIsolation = sandbox.IsolationUnspecified },
			[]string{below},
			"nobody states a floor and the backend has the default", func(w *World) {
				w.Policy.MinimumIsolation = sandbox.IsolationUnspecified
				w.Backend.Isolation = sandbox.DefaultIsolationFloor
			}, nil,
		},
	}
}

func isolationEvidence() []refusal {
	const short = "isolation.evidence_insufficient at backend"
	evidence := func(k sandbox.EvidenceKind) change {
		return func(w *World) { w.Backend.IsolationEvidence.Kind = k }
	}
	accepts := func(k sandbox.EvidenceKind) change {
		return func(w *World) { w.Policy.MinimumEvidence = k }
	}
	none := func(w *World) {
		w.Backend.IsolationEvidence = sandbox.Evidence{}
		w.Policy.MinimumIsolation = sandbox.IsolationNone
	}
	return []refusal{
		{
			"documented evidence where nobody accepts it", evidence(sandbox.EvidenceDocumented),
			[]string{short},
			"documented evidence where the policy accepts it", then(evidence(sandbox.EvidenceDocumented), accepts(sandbox.EvidenceDocumented)), nil,
		},
		{
			"documented evidence where the policy wants probed",
			then(evidence(sandbox.EvidenceDocumented), accepts(sandbox.EvidenceProbed)),
			[]string{short},
			"probed evidence where documented would do", accepts(sandbox.EvidenceDocumented), nil,
		},
		{
			"emulated evidence, which never counts",
			then(evidence(sandbox.EvidenceEmulated), accepts(sandbox.EvidenceDocumented)),
			[]string{short},
			"emulated evidence under a floor of none", then(evidence(sandbox.EvidenceEmulated), func(w *World) {
				w.Policy.MinimumIsolation = sandbox.IsolationNone
			}), nil,
		},
		{
			"no evidence", func(w *World) { w.Backend.IsolationEvidence = sandbox.Evidence{} },
			[]string{short},
			"no evidence under a floor of none", none, nil,
		},
		{
			"no evidence where the workload asks for a rung",
			then(none, func(w *World) { w.Workload.MinimumIsolation = sandbox.IsolationRuntime }),
			[]string{short},
			"no evidence where the workload's floor is none too",
			then(none, func(w *World) { w.Workload.MinimumIsolation = sandbox.IsolationNone }), nil,
		},
	}
}
