package conformance

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

// combinedFloors states every combination of floors at the four places that can
// state one, over a backend that is a container. The strongest holds, whoever
// states it; where nobody does, the default holds.
func combinedFloors() []DecisionRow {
	levels := []sandbox.Isolation{
		sandbox.IsolationUnspecified, sandbox.IsolationNone, sandbox.IsolationContainer, sandbox.IsolationMicroVM,
	}
	var rows []DecisionRow
	for _, host := range levels {
		for _, platform := range levels {
			for _, policy := range levels {
				for _, workload := range levels {
					rows = append(rows, floors(host, platform, policy, workload))
				}
			}
		}
	}
	return rows
}

func floors(host, platform, policy, workload sandbox.Isolation) DecisionRow {
	const backend = sandbox.IsolationContainer
	name, strongest := "", sandbox.IsolationUnspecified
	for _, by := range []struct {
		who   string
		floor sandbox.Isolation
	}{{"host", host}, {"platform", platform}, {"policy", policy}, {"workload", workload}} {
		if by.floor != sandbox.IsolationUnspecified {
			name += by.who + " says " + by.floor.String() + ", "
		}
		strongest = max(strongest, by.floor)
	}
	if strongest == sandbox.IsolationUnspecified {
		name, strongest = "nobody says anything, ", sandbox.IsolationMicroVM
	}
	step := func(w *World) {
		w.HostFloor, w.Platform = host, platformOf(platform)
		w.Policy.MinimumIsolation, w.Workload.MinimumIsolation = policy, workload
		w.Backend.Isolation = backend
	}
	if name += "on a container"; strongest > backend {
		return deniedRow("combined floors", name, step, "isolation.below_floor at backend")
	}
	return allowedRow("combined floors", name, step)
}

// platformOf is the policy that a runner imposes where its floor is this. There
// are few of them, since a configuration has one: the one without a floor of its
// own worth the name permits whatever it can, the one with a container's bounds
// other things as well.
func platformOf(floor sandbox.Isolation) *sandbox.Policy {
	switch floor {
	case sandbox.IsolationUnspecified:
		return nil
	case sandbox.IsolationNone:
		return &sandbox.Policy{
			MinimumIsolation: floor, MinimumEvidence: sandbox.EvidenceDocumented,
			MaximumIdentityScope: sandbox.IdentityScopeShared, Egress: unrestricted(),
			EgressMatch: sandbox.EgressMatchAtLeast, MissingGuarantees: sandbox.MissingGuaranteesWarn,
			NeverReaches: []string{"secret.files.example.org"},
		}
	case sandbox.IsolationContainer:
		return &sandbox.Policy{
			MinimumIsolation:   floor,
			DeniedCapabilities: sandbox.SetOf(sandbox.CapabilitySnapshot), DeniedIdentities: sandbox.SetOf(sandbox.IdentityApp),
			Egress: sandbox.Egress{
				Mode: sandbox.EgressAllowlist, Hosts: []string{"packages.example.org", "*.files.example.org"},
			},
			FilesIn: limitsOf(64),
			Images:  sandbox.ImagePolicy{Registries: []string{"registry.example.com"}},
		}
	default:
		return &sandbox.Policy{MinimumIsolation: floor}
	}
}

// platformRows are decided by what a runner imposes besides a floor: it bounds
// what the policy permits, and it is an opinion where the policy has none.
func platformRows() []DecisionRow {
	const check = "platform policy"
	under := func(floor sandbox.Isolation, c ...change) change {
		return then(append(c, func(w *World) { w.Platform = platformOf(floor) })...)
	}
	strict, lax := sandbox.IsolationContainer, sandbox.IsolationNone
	silent := func(w *World) { w.Policy = sandbox.Policy{Name: "silent"} }
	documented := func(w *World) { w.Backend.IsolationEvidence.Kind = sandbox.EvidenceDocumented }
	onlyClosed := func(w *World) { w.Backend.EgressModes = sandbox.SetOf(sandbox.EgressClosed) }
	gone := func(w *World) { delete(w.Backend.Guarantees, sandbox.GuaranteeUDPDenied) }
	image := func(reference string) change { return imaged(sandbox.Image{Reference: reference}) }
	return []DecisionRow{
		deniedRow(check, "it denies a capability", under(strict, requiring(sandbox.CapabilitySnapshot)), "capability.denied at requires"),
		deniedRow(check, "it denies an identity", under(strict, acting(sandbox.IdentityApp)), "identity.denied at identities"),
		allowedRow(check, "it does not deny another identity", under(strict, acting(sandbox.IdentityUser))),
		deniedRow(check, "a rule of the policy that it does not have", under(strict, asking(api())), `egress.not_within_policy at egress_rules["ask"]`),
		deniedRow(check, "its ceiling of transfers",
			under(strict, func(w *World) { w.Backend.FilesIn, w.Workload.FilesIn = limitsOf(65), limitsOf(65) }), "limits.over_ceiling at files_in_limits"),
		deniedRow(check, "its registries", under(strict, image("other.example.com/a:1")), "image.registry_denied at image.reference"),
		allowedRow(check, "one of its registries", under(strict, image("registry.example.com/a:1"))),
		deniedRow(check, "what it never reaches, though the policy allows it", under(lax, func(w *World) {
			w.Workload.Egress.Hosts = []string{"public.files.example.org", "secret.files.example.org"}
		}), "egress.never_reaches at egress_hosts[1]"),
		allowedRow(check, "a policy without opinions", under(lax, silent)),
		allowedRow(check, "a policy without opinions, on a runtime",
			under(lax, silent, func(w *World) { w.Backend.Isolation = sandbox.IsolationRuntime })),
		allowedRow(check, "documented evidence, which it accepts and nobody refuses", under(lax, silent, documented,
			func(w *World) { w.Workload.MinimumIsolation = sandbox.IsolationContainer })),
		deniedRow(check, "documented evidence, which it accepts and the policy refuses",
			under(lax, documented, func(w *World) { w.Policy.MinimumEvidence = sandbox.EvidenceProbed }), "isolation.evidence_insufficient at backend"),
		allowedRow(check, "an attached identity, which it permits and nobody forbids", under(lax, attached, func(w *World) {
			w.Policy.MaximumIdentityScope = sandbox.IdentityScopeUnspecified
		})),
		deniedRow(check, "an attached identity, which it permits and the policy forbids", under(lax, attached, func(w *World) {
			w.Policy.MaximumIdentityScope = sandbox.IdentityScopeNone
		}), "identity.attached_not_permitted at backend"),
		allowedRow(check, "a backend that confines more, which it accepts", under(lax, silent, onlyClosed), "egress.not_enforced at egress_mode"),
		deniedRow(check, "a backend that confines more, which it accepts and the policy does not",
			under(lax, onlyClosed, func(w *World) { w.Policy.EgressMatch = sandbox.EgressMatchExact }), "egress.not_enforced at egress_mode"),
		allowedRow(check, "a way around, which it tolerates", under(lax, silent, gone), "egress.guarantee_missing at egress_mode"),
		deniedRow(check, "a way around, which it tolerates and the policy does not", under(lax, gone), "egress.guarantee_missing at egress_mode"),
	}
}

// guaranteeEvidence demands each guarantee of a backend that claims it on each
// ground, or not at all.
func guaranteeEvidence() []DecisionRow {
	var rows []DecisionRow
	for _, g := range sandbox.Guarantees() {
		for _, have := range append([]sandbox.EvidenceKind{0}, sandbox.EvidenceKinds()...) {
			for _, need := range []sandbox.EvidenceKind{0, sandbox.EvidenceDocumented} {
				name := "a demanded " + g.String() + ", not claimed"
				if have != 0 {
					name = "a demanded " + g.String() + ", " + have.String()
				}
				step := func(w *World) {
					w.Workload.Egress.Guarantees = sandbox.SetOf(g)
					w.Backend.Guarantees[g] = sandbox.Evidence{Kind: have}
					if have == 0 {
						delete(w.Backend.Guarantees, g)
					}
					w.Policy.MinimumEvidence = need
				}
				enough := have == sandbox.EvidenceProbed
				if need == sandbox.EvidenceDocumented {
					name += ", where documented will do"
					enough = enough || have == sandbox.EvidenceDocumented
				}
				if enough {
					rows = append(rows, allowedRow("evidence of guarantees", name, step))
				} else {
					rows = append(rows, deniedRow("evidence of guarantees", name, step, "egress.guarantee_missing at egress_guarantees"))
				}
			}
		}
	}
	return rows
}

// modeGuarantees takes each guarantee away under each mode. A mode needs those
// without which it does not mean what it says.
func modeGuarantees() []DecisionRow {
	closed := sandbox.SetOf(sandbox.GuaranteeDNSConfined, sandbox.GuaranteeMetadataDenied, sandbox.GuaranteeUDPDenied)
	names := closed.Union(sandbox.SetOf(sandbox.GuaranteeIPLiteralDenied, sandbox.GuaranteePortConfined, sandbox.GuaranteeSNIBound))
	rule := func(methods, paths string) change {
		return asking(sandbox.EgressRule{Host: "api.example.com", Ports: []string{"443"}, Methods: []string{methods}, Paths: []string{paths}})
	}
	var rows []DecisionRow
	for _, under := range []struct {
		name  string
		ask   change
		needs sandbox.GuaranteeSet
	}{
		{"a closed network", func(w *World) { w.Workload.Egress = sandbox.Egress{} }, closed},
		{"an allowlist of hosts", then(), names},
		{"an allowlist with methods", rule("GET", "*"), names.With(sandbox.GuaranteeMethodConfined)},
		{"an allowlist with paths", rule("*", "/v1"), names.With(sandbox.GuaranteePathConfined)},
	} {
		for _, g := range sandbox.Guarantees() {
			name := under.name + " without " + g.String()
			step := then(under.ask, func(w *World) {
				w.Policy.Egress = unrestricted()
				delete(w.Backend.Guarantees, g)
			})
			if under.needs.Has(g) {
				rows = append(rows, deniedRow("guarantees of modes", name, step, "egress.guarantee_missing at egress_mode"))
			} else {
				rows = append(rows, allowedRow("guarantees of modes", name, step))
			}
		}
	}
	return rows
}
