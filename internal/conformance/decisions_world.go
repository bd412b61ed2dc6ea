package conformance

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Fits is a world in which everything fits: the workload is admitted without a
// warning. Rows of the decision table, and tests elsewhere, change it by one step.
// It shares nothing with what another call returns.
func Fits() World {
	probed := sandbox.Evidence{Kind: sandbox.EvidenceProbed, Reference: "test"}
	offered := sandbox.SetOf(sandbox.Capabilities()...).
		Minus(sandbox.SetOf(sandbox.CapabilityAttachedIdentity, sandbox.CapabilityRunCode))
	guarantees := map[sandbox.Guarantee]sandbox.Evidence{}
	for _, g := range sandbox.Guarantees() {
		guarantees[g] = probed
	}
	requires := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut)
	return World{
		Policy: sandbox.Policy{
			Name:             "agents",
			MinimumIsolation: sandbox.IsolationContainer,
			Egress: sandbox.Egress{
				Mode:  sandbox.EgressAllowlist,
				Hosts: []string{"packages.example.org", "*.files.example.org"},
				Rules: map[string]sandbox.EgressRule{
					"api": {Host: "api.example.com", Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"/v1"}},
				},
			},
			MissingGuarantees: sandbox.MissingGuaranteesRefuse,
		},
		Workload: sandbox.Spec{
			Kind: "codeact", Backend: "test", Requires: &requires,
			Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"packages.example.org"}},
		},
		Backend: sandbox.Declarations{
			Backend: "test", Isolation: sandbox.IsolationHardenedContainer, IsolationEvidence: probed,
			Capabilities: &offered,
			EgressModes:  sandbox.SetOf(sandbox.EgressAllowlist, sandbox.EgressClosed),
			Guarantees:   guarantees,
			ImageSources: sandbox.SetOf(sandbox.ImageSources()...),
			OSFamilies:   sandbox.SetOf(sandbox.OSFamilyPOSIX),
		},
	}
}

// change is one step away from a world.
type change func(*World)

// then is several changes as one step.
func then(changes ...change) change {
	return func(w *World) {
		for _, c := range changes {
			c(w)
		}
	}
}

func requiring(add ...sandbox.Capability) change {
	return func(w *World) {
		all := w.Workload.Requires.Union(sandbox.SetOf(add...))
		w.Workload.Requires = &all
	}
}

func requiringOnly(only ...sandbox.Capability) change {
	return func(w *World) {
		all := sandbox.SetOf(only...)
		w.Workload.Requires = &all
	}
}

func lacking(gone ...sandbox.Capability) change {
	return func(w *World) {
		rest := w.Backend.Capabilities.Minus(sandbox.SetOf(gone...))
		w.Backend.Capabilities = &rest
	}
}

func offering(add ...sandbox.Capability) change {
	return func(w *World) {
		all := w.Backend.Capabilities.Union(sandbox.SetOf(add...))
		w.Backend.Capabilities = &all
	}
}

func denying(denied ...sandbox.Capability) change {
	return func(w *World) { w.Policy.DeniedCapabilities = sandbox.SetOf(denied...) }
}

// acting makes the workload's host tools act under identities.
func acting(as ...sandbox.Identity) change {
	return then(requiring(sandbox.CapabilityHostTools), func(w *World) { w.Workload.Identities = sandbox.SetOf(as...) })
}

// attaching makes the backend attach an identity, shared by a scope and kept for
// a minute.
func attaching(w *World) {
	offering(sandbox.CapabilityAttachedIdentity)(w)
	w.Backend.AttachedIdentity = sandbox.AttachedIdentity{
		Scope: sandbox.IdentityScopePerScope, RetentionSeconds: 60, Channels: sandbox.SetOf(sandbox.ChannelEgressHeader),
	}
}

// attached is a backend with an identity, a policy that permits it, and a workload
// that requires it within bounds that it meets.
func attached(w *World) {
	attaching(w)
	requiring(sandbox.CapabilityAttachedIdentity)(w)
	w.Policy.MaximumIdentityScope = sandbox.IdentityScopePerScope
	w.Workload.MaximumIdentityScope, w.Workload.IdentityRetentionSeconds = sandbox.IdentityScopePerScope, 60
}

// asking makes the workload ask for one rule beside its host.
func asking(rule sandbox.EgressRule) change {
	return func(w *World) { w.Workload.Egress.Rules = map[string]sandbox.EgressRule{"ask": rule} }
}

// api is what the policy's own rule admits.
func api() sandbox.EgressRule {
	return sandbox.EgressRule{Host: "api.example.com", Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"/v1"}}
}

func imaged(image sandbox.Image) change {
	return func(w *World) { w.Workload.Image = image }
}

// filesAsRoot makes the backend write files as root of the guest.
func filesAsRoot(w *World) { w.Backend.WriteAuthority = sandbox.WriteAuthorityRoot }

// limitsOf are transfer limits that are the defaults with another number of files.
func limitsOf(files int64) *sandbox.TransferLimits {
	l := sandbox.DefaultTransferLimits()
	l.MaxFiles = files
	return &l
}

// unknown marks places, written as attribute names and what [sandbox.Path] takes.
func unknown(steps ...any) change {
	return func(w *World) { w.Unknown = append(w.Unknown, sandbox.Path(steps...)) }
}
