package conformance

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func malformedPolicies() []refusal {
	egress := func(e sandbox.Egress) change { return func(w *World) { w.Policy.Egress = e } }
	hosts := func(h ...string) change { return func(w *World) { w.Policy.Egress.Hosts = h } }
	never := func(h ...string) change { return func(w *World) { w.Policy.NeverReaches = h } }
	return []refusal{
		{
			"hosts that the mode ignores", egress(sandbox.Egress{Mode: sandbox.EgressUnrestricted, Hosts: []string{"a.example"}}),
			[]string{"egress.hosts_without_allowlist at policy.egress_hosts"},
			"the mode without hosts", egress(unrestricted()), nil,
		},
		{
			"an allowlist without hosts", egress(sandbox.Egress{Mode: sandbox.EgressAllowlist}),
			[]string{"egress.allowlist_empty at policy.egress_mode"},
			"one with a host", egress(sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"packages.example.org"}}), nil,
		},
		{
			"a host with a scheme", hosts("packages.example.org", "https://a.example"),
			[]string{"egress.host_invalid at policy.egress_hosts[1]"},
			"a host in capitals and with the root's dot", hosts("PACKAGES.Example.org."), nil,
		},
		{
			"a host that nothing can open", hosts("packages.example.org", "169.254.169.254"),
			[]string{"egress.always_blocked at policy.egress_hosts[1]"},
			"a private range, which a rule can open", hosts("packages.example.org", "10.0.0.0/8"), nil,
		},
		{
			"a rule that does not state its methods", func(w *World) {
				w.Policy.Egress.Rules = map[string]sandbox.EgressRule{"api": {Host: "api.example.com", Ports: []string{"443"}, Paths: []string{"*"}}}
			},
			[]string{`egress.rule_incomplete at policy.egress_rules["api"].methods`},
			"a rule for any method", func(w *World) {
				w.Policy.Egress.Rules = map[string]sandbox.EgressRule{"api": {Host: "api.example.com", Ports: []string{"443"}, Methods: []string{"*"}, Paths: []string{"*"}}}
			}, nil,
		},
		{
			"a policy that allows what it never reaches", never("packages.example.org"),
			[]string{"egress.never_reaches at policy.egress_hosts[0]"},
			"one that never reaches something else", never("*.packages.example.org", "169.254.0.0/16"), nil,
		},
		{
			"a range that is none", never("10.0.0.1/8"),
			[]string{"egress.address_invalid at policy.never_reaches[0]"},
			"the range that was meant", never("10.0.0.0/8"), nil,
		},
		{
			"a limit below zero", func(w *World) { w.Policy.FilesIn = limitsOf(-1) },
			[]string{"value.out_of_range at policy.files_in_limits.max_files"},
			"a limit of the largest number", func(w *World) { w.Policy.FilesIn = limitsOf(sandbox.MaxDocumentInteger) }, nil,
		},
		{
			"a registry with a scheme", func(w *World) { w.Policy.Images.Registries = []string{"https://registry.example.com"} },
			[]string{"value.invalid_text at policy.image_registries[0]"},
			"a registry with a port", func(w *World) { w.Policy.Images.Registries = []string{"registry.example.com:5000"} }, nil,
		},
		{
			"emulated evidence cannot be asked for", func(w *World) { w.Policy.MinimumEvidence = sandbox.EvidenceEmulated },
			[]string{"value.unknown_word at policy.minimum_evidence"},
			"", nil, nil,
		},
	}
}

func malformedWorkloads() []refusal {
	egress := func(e sandbox.Egress) change { return func(w *World) { w.Workload.Egress = e } }
	output := func(path, name string) change {
		return func(w *World) { w.Workload.Outputs = map[string]sandbox.Output{"chart": {Path: path, Name: name}} }
	}
	labelled := func(key, value string) change {
		return func(w *World) { w.Workload.Labels = map[string]string{key: value} }
	}
	within := func(dir string) change { return func(w *World) { w.Workload.WorkDir = dir } }
	return append(malformedIdentities(), []refusal{
		{
			"a kind that is no word", func(w *World) { w.Workload.Kind = "Code Act" },
			[]string{"value.invalid_text at kind"},
			"another word", func(w *World) { w.Workload.Kind = "my-kind_2" }, nil,
		},
		{
			"no kind", func(w *World) { w.Workload.Kind = "" },
			[]string{"value.missing at kind"},
			"", nil, nil,
		},
		{
			"hosts under a closed network", egress(sandbox.Egress{Hosts: []string{"packages.example.org"}}),
			[]string{"egress.hosts_without_allowlist at egress_hosts"},
			"a closed network", egress(sandbox.Egress{Mode: sandbox.EgressClosed}), nil,
		},
		{
			"an allowlist without hosts", egress(sandbox.Egress{Mode: sandbox.EgressAllowlist}),
			[]string{"egress.allowlist_empty at egress_mode"},
			"an allowlist with a rule", egress(sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{"api": api()}}), nil,
		},
		{
			"a rule's port that is none", asking(sandbox.EgressRule{Host: "api.example.com", Ports: []string{"443", "0"}, Methods: []string{"GET"}, Paths: []string{"/v1"}}),
			[]string{`egress.port_invalid at egress_rules["ask"].ports[1]`},
			"a rule's port", asking(api()), nil,
		},
		{
			"outputs without files_out", then(output("chart.png", ""), requiringOnly(sandbox.CapabilityExec)),
			[]string{"spec.outputs_need_files_out at requires"},
			"outputs with it", output("chart.png", ""), nil,
		},
		{
			"an output outside the work directory", output("../chart.png", "chart.png"),
			[]string{`output.name_invalid at outputs["chart"].path`},
			"an output in a directory below it", output("charts/chart.png", "chart.png"), nil,
		},
		{
			"reclaim is required", requiring(sandbox.CapabilityReclaim),
			[]string{"spec.reclaim_not_requirable at requires"},
			"", nil, nil,
		},
		{
			"a label of the owner's", labelled(sandbox.ReservedLabelPrefix+"owner", "me"),
			[]string{`value.invalid_text at labels["sandbox.owner"]`},
			"a label of one's own", labelled("team", "a"), nil,
		},
		{
			"a label with a slash", labelled("team/a", "b"),
			[]string{`value.invalid_text at labels["team/a"]`},
			"a label of the longest value", labelled("team", strings.Repeat("a", 256)), nil,
		},
		{
			"a work directory that is relative", within("srv/task"),
			[]string{"path.invalid at work_dir"},
			"one that is absolute", within("/srv/task"), nil,
		},
		{
			"a catalogue name and a reference", imaged(sandbox.Image{Prebuilt: "python", Reference: "registry.example.com/a:1"}),
			[]string{"image.invalid at image.prebuilt"},
			"a catalogue name", imaged(sandbox.Image{Prebuilt: "python"}), nil,
		},
		{
			"half a digest", imaged(sandbox.Image{Reference: "registry.example.com/a:1", Digest: "sha256:abc"}),
			[]string{"image.invalid at image.digest"},
			"a whole one", imaged(sandbox.Image{Reference: "registry.example.com/a:1", Digest: "sha256:" + strings.Repeat("0", 64)}), nil,
		},
		{
			"two digests", imaged(sandbox.Image{Reference: "registry.example.com/a@sha256:" + strings.Repeat("1", 64), Digest: "sha256:" + strings.Repeat("0", 64)}),
			[]string{"image.invalid at image.digest"},
			"the same digest twice", imaged(sandbox.Image{Reference: "registry.example.com/a@sha256:" + strings.Repeat("0", 64), Digest: "sha256:" + strings.Repeat("0", 64)}), nil,
		},
		{
			"a limit below zero", func(w *World) { w.Workload.FilesOut = limitsOf(-1) },
			[]string{"value.out_of_range at files_out_limits.max_files"},
			"no files at all", func(w *World) { w.Workload.FilesOut = limitsOf(0) }, nil,
		},
	}...)
}

func malformedIdentities() []refusal {
	bounds := func(s sandbox.IdentityScope, seconds int64) change {
		return func(w *World) {
			w.Workload.MaximumIdentityScope, w.Workload.IdentityRetentionSeconds = s, seconds
		}
	}
	const stated = "spec.identity_bounds at maximum_identity_scope"
	return []refusal{
		{
			"identities without host tools", func(w *World) { w.Workload.Identities = sandbox.SetOf(sandbox.IdentityUser) },
			[]string{"spec.host_tools_not_required at identities"},
			"identities with host tools", acting(sandbox.IdentityUser), nil,
		},
		{
			"an attached identity without bounds", then(attached, bounds(0, 0)),
			[]string{stated},
			"with its bounds", attached, nil,
		},
		{
			"an attached identity that may be kept for no time", then(attached, bounds(sandbox.IdentityScopePerScope, 0)),
			[]string{stated},
			"", nil, nil,
		},
		{
			"bounds of an identity that is not required", bounds(sandbox.IdentityScopePerScope, 60),
			[]string{stated},
			"the bound that permits none", bounds(sandbox.IdentityScopeNone, 0), nil,
		},
	}
}

func malformedBackends() []refusal {
	const disagree = "backend.declarations_invalid at backend_facts.attached_identity"
	return []refusal{
		{
			"the capability of an identity that is not attached", offering(sandbox.CapabilityAttachedIdentity),
			[]string{disagree},
			"the capability and the identity", attached, nil,
		},
		{
			"an attached identity without the capability", then(attaching, lacking(sandbox.CapabilityAttachedIdentity)),
			[]string{disagree},
			"neither", lacking(sandbox.CapabilityAttachedIdentity), nil,
		},
	}
}
