package facts

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

// shipped has one row a backend, sorted by name. To add one: write its function
// below, a row here, and the test in the backend's own package that compares.
var shipped = [...]struct {
	name    string
	summary string
	declare func() sandbox.Declarations
}{
	{"acas", "Azure Container Apps Sandboxes: a microVM for each sandbox, as the service documents it", acas},
	{"docker", "containers of a Docker Engine on a shared kernel, without network", docker},
	{"process", "processes of a Linux host in namespaces of their own, with no network but an egress proxy", process},
	{"wasm", "a WebAssembly guest inside the host process, without network", wasm},
}

// acas is the service as its documentation and its users describe it. DNS is
// never filtered and always answers, and nothing is written about the metadata
// address, so dns_confined, udp_denied and metadata_denied are not claimed. Nor is
// port_confined: in the version of the service that clients speak a rule has no
// scheme, so a host that is declared on port 443 can be asked on port 80 too.
func acas() sandbox.Declarations {
	capabilities := sandbox.SetOf(
		sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut,
		sandbox.CapabilityFilesList, sandbox.CapabilityFilesDelete, sandbox.CapabilityEgressMethods,
	)
	limits := sandbox.TransferLimits{MaxBytesPerFile: 32 << 20, MaxTotalBytes: 128 << 20, MaxFiles: 128}
	in, out := limits, limits
	service := documented("Azure Container Apps Sandboxes, egress policy with full traffic inspection")
	return sandbox.Declarations{
		Backend:           "acas",
		Isolation:         sandbox.IsolationMicroVM,
		IsolationEvidence: documented("Azure Container Apps Sandboxes, one microVM for each sandbox"),
		Capabilities:      &capabilities,
		FilesIn:           &in,
		FilesOut:          &out,
		EgressModes:       sandbox.SetOf(sandbox.EgressClosed, sandbox.EgressAllowlist),
		Guarantees: map[sandbox.Guarantee]sandbox.Evidence{
			sandbox.GuaranteeIPLiteralDenied: service,
			sandbox.GuaranteeSNIBound:        service,
			sandbox.GuaranteeMethodConfined:  service,
		},
		MethodTokens:    []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PROPFIND", "PUT", "TRACE"},
		ImageSources:    sandbox.SetOf(sandbox.ImageSourcePrebuilt, sandbox.ImageSourceReference),
		OSFamilies:      sandbox.SetOf(sandbox.OSFamilyPOSIX),
		IsolationScopes: sandbox.SetOf(sandbox.ScopeConversation),
		WriteAuthority:  sandbox.WriteAuthorityRoot,
	}
}

// docker is any Docker Engine with the default runtime and no network. Whether
// the engine runs gVisor, and what an egress proxy adds, only a probe can tell.
func docker() sandbox.Declarations {
	capabilities := sandbox.SetOf(
		sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut,
		sandbox.CapabilityFilesList, sandbox.CapabilityFilesDelete,
	)
	return sandbox.Declarations{
		Backend:           "docker",
		Isolation:         sandbox.IsolationContainer,
		IsolationEvidence: documented("Docker Engine, runc with namespaces, cgroups and the default seccomp profile"),
		Capabilities:      &capabilities,
		EgressModes:       sandbox.SetOf(sandbox.EgressClosed),
		Guarantees:        noNetwork(documented("Docker Engine, network none: loopback is the only interface")),
		ImageSources:      sandbox.SetOf(sandbox.ImageSourceReference),
		OSFamilies:        sandbox.SetOf(sandbox.OSFamilyPOSIX),
		IsolationScopes:   sandbox.SetOf(sandbox.ScopeConversation, sandbox.ScopeCall),
		WriteAuthority:    sandbox.WriteAuthorityGuest,
	}
}

// process claims what holds on every Linux host the backend agrees to start on.
// Namespaces, seccomp and cgroup limits raise it to container, but only a probe
// of the machine shows them. A sandbox has no network, and with an allowlist a
// socket of a proxy, which is this project's own on every host.
func process() sandbox.Declarations {
	capabilities := sandbox.SetOf(
		sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut,
		sandbox.CapabilityFilesList, sandbox.CapabilityFilesDelete, sandbox.CapabilityReclaim,
		sandbox.CapabilityEgressPorts, sandbox.CapabilityEgressMethods, sandbox.CapabilityEgressPaths, sandbox.CapabilityEgressAddresses,
	)
	guarantees := noNetwork(documented("Linux, a network namespace with loopback only"))
	for _, g := range []sandbox.Guarantee{sandbox.GuaranteeSNIBound, sandbox.GuaranteeMethodConfined, sandbox.GuaranteePathConfined} {
		guarantees[g] = documented("the egress proxy of this release, behind a socket that is all a sandbox has")
	}
	return sandbox.Declarations{
		Backend:           "process",
		Isolation:         sandbox.IsolationOSProcess,
		IsolationEvidence: documented("bubblewrap, namespaces of an unprivileged user; what more a machine bears out, sandboxctl facts --backend process shows, for backend_facts"),
		Capabilities:      &capabilities,
		EgressModes:       sandbox.SetOf(sandbox.EgressClosed, sandbox.EgressAllowlist),
		Guarantees:        guarantees,
		OSFamilies:        sandbox.SetOf(sandbox.OSFamilyPOSIX),
		IsolationScopes:   sandbox.SetOf(sandbox.ScopeConversation, sandbox.ScopeCall),
		WriteAuthority:    sandbox.WriteAuthorityGuest,
	}
}

// wasm is the same on every machine: the guest is embedded, and it is given no
// host call that opens a connection.
func wasm() sandbox.Declarations {
	capabilities := sandbox.SetOf(
		sandbox.CapabilityRunCode, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut,
		sandbox.CapabilityFilesList, sandbox.CapabilityFilesDelete, sandbox.CapabilityReclaim,
	)
	shown := sandbox.Evidence{
		Kind:      sandbox.EvidenceProbed,
		Reference: "tests of this release: no host call opens a connection",
	}
	return sandbox.Declarations{
		Backend:   "wasm",
		Isolation: sandbox.IsolationRuntime,
		IsolationEvidence: sandbox.Evidence{
			Kind:      sandbox.EvidenceProbed,
			Reference: "tests of this release: WebAssembly memory and host calls of our own",
		},
		Capabilities:    &capabilities,
		EgressModes:     sandbox.SetOf(sandbox.EgressClosed),
		Guarantees:      noNetwork(shown),
		OSFamilies:      sandbox.SetOf(sandbox.OSFamilyPOSIX),
		IsolationScopes: sandbox.SetOf(sandbox.ScopeConversation, sandbox.ScopeCall),
		WriteAuthority:  sandbox.WriteAuthorityGuest,
	}
}

// noNetwork are the guarantees that hold by themselves where there is nothing to
// send a packet through.
func noNetwork(e sandbox.Evidence) map[sandbox.Guarantee]sandbox.Evidence {
	return map[sandbox.Guarantee]sandbox.Evidence{
		sandbox.GuaranteeDNSConfined:     e,
		sandbox.GuaranteeIPLiteralDenied: e,
		sandbox.GuaranteePortConfined:    e,
		sandbox.GuaranteeMetadataDenied:  e,
		sandbox.GuaranteeUDPDenied:       e,
	}
}

func documented(reference string) sandbox.Evidence {
	return sandbox.Evidence{Kind: sandbox.EvidenceDocumented, Reference: reference}
}
