package conformance

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

func egressModes() []refusal {
	const unenforced = "egress.not_enforced at egress_mode"
	enforcing := func(m ...sandbox.EgressMode) change {
		return func(w *World) { w.Backend.EgressModes = sandbox.SetOf(m...) }
	}
	match := func(m sandbox.EgressMatch) change { return func(w *World) { w.Policy.EgressMatch = m } }
	closed := func(w *World) { w.Workload.Egress = sandbox.Egress{} }
	onlyClosed := enforcing(sandbox.EgressClosed)
	return []refusal{
		{
			"a backend that is silent about egress", enforcing(),
			[]string{unenforced},
			"a backend that enforces this mode alone", enforcing(sandbox.EgressAllowlist), nil,
		},
		{
			"a backend that only closes the network", onlyClosed,
			[]string{unenforced},
			"it confines more than asked, where that is enough", then(onlyClosed, match(sandbox.EgressMatchAtLeast)),
			[]string{unenforced},
		},
		{
			"it confines more than asked and the policy wants exactly that",
			then(onlyClosed, match(sandbox.EgressMatchExact)),
			[]string{unenforced},
			"the policy wants exactly what is enforced", match(sandbox.EgressMatchExact), nil,
		},
		{
			"a backend that cannot close the network", then(closed, enforcing(sandbox.EgressAllowlist)),
			[]string{unenforced},
			"one that can", then(closed, onlyClosed), nil,
		},
		{
			"at least the mode is less than closed",
			then(closed, enforcing(sandbox.EgressAllowlist), match(sandbox.EgressMatchAtLeast)),
			[]string{unenforced},
			"the same mode at least", then(closed, match(sandbox.EgressMatchAtLeast)), nil,
		},
		{
			"unrestricted, which no other mode stands in for", func(w *World) {
				w.Policy.Egress, w.Workload.Egress = unrestricted(), unrestricted()
				w.Policy.EgressMatch = sandbox.EgressMatchAtLeast
			},
			[]string{unenforced},
			"a backend that does not restrict", func(w *World) {
				w.Policy.Egress, w.Workload.Egress = unrestricted(), unrestricted()
				w.Backend.EgressModes = sandbox.SetOf(sandbox.EgressUnrestricted)
			}, nil,
		},
	}
}

func unrestricted() sandbox.Egress { return sandbox.Egress{Mode: sandbox.EgressUnrestricted} }

func egressWithin() []refusal {
	const mode, never = "egress.mode_denied at egress_mode", "egress.never_reaches at egress_hosts[0]"
	hosts := func(h ...string) change { return func(w *World) { w.Workload.Egress.Hosts = h } }
	policy := func(e sandbox.Egress) change { return func(w *World) { w.Policy.Egress = e } }
	avoiding := func(h ...string) change {
		return then(policy(unrestricted()), func(w *World) { w.Policy.NeverReaches = h })
	}
	free := func(w *World) {
		w.Workload.Egress = unrestricted()
		w.Backend.EgressModes = w.Backend.EgressModes.With(sandbox.EgressUnrestricted)
	}
	return []refusal{
		{
			"a host wider than the policy", hosts("packages.example.org", "*.example.com"),
			[]string{"egress.not_within_policy at egress_hosts[1]"},
			"a host below a wildcard of the policy", hosts("packages.example.org", "a.b.files.example.org"), nil,
		},
		{
			"an allowlist where no policy opens the network", policy(sandbox.Egress{}),
			[]string{mode},
			"closed where no policy opens it", then(policy(sandbox.Egress{}), func(w *World) { w.Workload.Egress = sandbox.Egress{} }), nil,
		},
		{
			"an allowlist where the policy closes the network", policy(sandbox.Egress{Mode: sandbox.EgressClosed}),
			[]string{mode},
			"an allowlist where the policy does not restrict", policy(unrestricted()), nil,
		},
		{
			"unrestricted under an allowlist", free,
			[]string{mode},
			"unrestricted where the policy does not restrict", then(free, policy(unrestricted())), nil,
		},
		{
			"a host that must never be reached", avoiding("*.example.org"),
			[]string{never},
			"a host beside it", avoiding("*.packages.example.org"), nil,
		},
		{
			"a wildcard over what must never be reached", then(avoiding("b.files.example.org"), hosts("*.files.example.org")),
			[]string{never},
			"a sibling of it", then(avoiding("b.files.example.org"), hosts("a.files.example.org")), nil,
		},
		{
			"a range over an address that must never be reached", then(avoiding("10.1.2.3"), hosts("10.1.0.0/16")),
			[]string{never},
			"the range beside it", then(avoiding("10.1.2.3"), hosts("10.2.0.0/16")), nil,
		},
		{
			"everything, while something must never be reached", then(avoiding("*.example.org"), free),
			[]string{"egress.never_reaches at egress_mode"},
			"nothing at all, while something must never be reached",
			then(avoiding("packages.example.org"), func(w *World) { w.Workload.Egress = sandbox.Egress{} }), nil,
		},
	}
}

func egressGuarantees() []refusal {
	const demanded, baseline = "egress.guarantee_missing at egress_guarantees", "egress.guarantee_missing at egress_mode"
	gone := func(g sandbox.Guarantee) change { return func(w *World) { delete(w.Backend.Guarantees, g) } }
	workload := func(g sandbox.Guarantee) change {
		return func(w *World) { w.Workload.Egress.Guarantees = sandbox.SetOf(g) }
	}
	policy := func(g sandbox.Guarantee) change {
		return func(w *World) { w.Policy.Egress.Guarantees = sandbox.SetOf(g) }
	}
	warn := func(w *World) { w.Policy.MissingGuarantees = sandbox.MissingGuaranteesWarn }
	return []refusal{
		{
			"a way around the mode is open", gone(sandbox.GuaranteeUDPDenied),
			[]string{baseline},
			"the policy tolerates it", then(gone(sandbox.GuaranteeUDPDenied), warn),
			[]string{baseline},
		},
		{
			"the workload demands what the backend does not give",
			then(gone(sandbox.GuaranteePathConfined), workload(sandbox.GuaranteePathConfined)),
			[]string{demanded},
			"nobody demands it", gone(sandbox.GuaranteePathConfined), nil,
		},
		{
			"the policy demands what the backend does not give",
			then(gone(sandbox.GuaranteePathConfined), policy(sandbox.GuaranteePathConfined)),
			[]string{demanded},
			"the policy demands what it gives", policy(sandbox.GuaranteePathConfined), nil,
		},
		{
			"tolerating ways around the mode does not tolerate what is demanded",
			then(gone(sandbox.GuaranteeUDPDenied), workload(sandbox.GuaranteeUDPDenied), warn),
			[]string{demanded},
			"the policy that says nothing of missing ones tolerates them",
			then(gone(sandbox.GuaranteeUDPDenied), func(w *World) { w.Policy.MissingGuarantees = sandbox.MissingGuaranteesUnspecified }),
			[]string{baseline},
		},
		{
			"a demanded one and a way around, in this order",
			then(gone(sandbox.GuaranteeUDPDenied), gone(sandbox.GuaranteePathConfined), workload(sandbox.GuaranteePathConfined)),
			[]string{demanded, baseline},
			"a network without limits has no way around it", func(w *World) {
				w.Policy.Egress, w.Workload.Egress, w.Backend.Guarantees = unrestricted(), unrestricted(), nil
				w.Backend.EgressModes = sandbox.SetOf(sandbox.EgressUnrestricted)
			}, nil,
		},
	}
}
