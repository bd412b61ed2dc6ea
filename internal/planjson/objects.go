package planjson

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

// readManifest reads a sandbox_manifest.
func readManifest(address string, o object) Manifest {
	m := Manifest{Address: address, Workloads: map[string]Workload{}}
	if document := o.text("document"); document != "" {
		m.Document = []byte(document)
	}
	m.Policy = readPolicy(o)
	workloads, ok := o.child("workloads")
	m.WorkloadsKnown = ok
	for _, name := range workloads.keys() {
		unknown := below(workloads.unknown, name, 0)
		if wholly(unknown) {
			m.WorkloadsKnown = false
			continue
		}
		m.Workloads[name] = readWorkload("", object{
			reading: &reading{}, after: fields(workloads.after[name]), unknown: unknown,
		}, false)
	}
	return m
}

// readWorkload reads a workload. Only a resource carries a policy and a verdict.
func readWorkload(address string, o object, resource bool) Workload {
	w := Workload{Address: address}
	if resource {
		p := readPolicy(o)
		w.Policy = &p
		w.Decided = o.after["verdict"] != nil
	}
	w.Spec = specOf(o)
	w.Facts = o.text("backend_facts")
	w.FactsKnown = o.reading.known.Has(sandbox.Path("backend_facts"))
	w.Known, w.Findings = o.reading.known, o.reading.findings
	return w
}

// readPolicy reads the policy attribute of another object.
func readPolicy(o object) Policy {
	unknown := below(o.unknown, "policy", 0)
	inner := object{reading: &reading{}, after: fields(o.after["policy"]), unknown: unknown}
	p := Policy{Policy: policyOf(inner)}
	p.Known, p.Findings = inner.reading.known, inner.reading.findings
	return p
}

func policyOf(o object) sandbox.Policy {
	p := sandbox.Policy{
		Name:                  o.text("name"),
		MinimumIsolation:      word[sandbox.Isolation](o, "minimum_isolation"),
		MinimumEvidence:       word[sandbox.EvidenceKind](o, "minimum_evidence"),
		MinimumIsolationScope: word[sandbox.IsolationScope](o, "minimum_isolation_scope"),
		MinimumCleanup:        word[sandbox.Cleanup](o, "minimum_cleanup"),
		MaximumIdentityScope:  word[sandbox.IdentityScope](o, "maximum_identity_scope"),
		Egress:                egressOf(o),
		EgressMatch:           word[sandbox.EgressMatch](o, "egress_match"),
		MissingGuarantees:     word[sandbox.MissingGuarantees](o, "missing_guarantees"),
		NeverReaches:          o.texts("never_reaches"),
		FilesIn:               limitsOf(o, "files_in_limits"),
		FilesOut:              limitsOf(o, "files_out_limits"),
		Images: sandbox.ImagePolicy{
			Registries:    o.texts("image_registries"),
			RequireDigest: o.flag("image_require_digest", false),
			Prebuilt:      word[sandbox.PrebuiltRule](o, "image_prebuilt"),
			User:          word[sandbox.ImageUser](o, "image_user"),
		},
	}
	p.DeniedCapabilities, _ = words[sandbox.Capability](o, "denied_capabilities")
	p.DeniedIdentities, _ = words[sandbox.Identity](o, "denied_identities")
	return p
}

func specOf(o object) sandbox.Spec {
	s := sandbox.Spec{
		Kind:                     o.text("kind"),
		Backend:                  o.text("backend"),
		MinimumIsolation:         word[sandbox.Isolation](o, "minimum_isolation"),
		IsolationScope:           word[sandbox.IsolationScope](o, "isolation_scope"),
		MinimumCleanup:           word[sandbox.Cleanup](o, "minimum_cleanup"),
		OSFamily:                 word[sandbox.OSFamily](o, "os_family"),
		WorkDir:                  o.text("work_dir"),
		Labels:                   o.labels("labels"),
		Egress:                   egressOf(o),
		FilesIn:                  limitsOf(o, "files_in_limits"),
		FilesOut:                 limitsOf(o, "files_out_limits"),
		Outputs:                  outputsOf(o),
		OutputsNamedAtCallTime:   o.flag("outputs_named_at_call_time", false),
		MaximumIdentityScope:     word[sandbox.IdentityScope](o, "maximum_identity_scope"),
		IdentityRetentionSeconds: o.whole("identity_retention_seconds"),
		ProgramProfile:           o.text("program_profile"),
	}
	if image, ok := o.child("image"); ok {
		s.Image = sandbox.Image{
			Prebuilt: image.text("prebuilt"), Reference: image.text("reference"), Digest: image.text("digest"),
			User: image.text("user"), Platform: image.text("platform"),
		}
	}
	if requires, stated := words[sandbox.Capability](o, "requires"); stated {
		s.Requires = &requires
	}
	s.Identities, _ = words[sandbox.Identity](o, "identities")
	return s
}

func egressOf(o object) sandbox.Egress {
	e := sandbox.Egress{Mode: word[sandbox.EgressMode](o, "egress_mode"), Hosts: o.texts("egress_hosts")}
	rules := map[string]sandbox.EgressRule{}
	if o.children("egress_rules", func(key string, rule object) {
		rules[key] = sandbox.EgressRule{
			Host: rule.text("host"), Ports: rule.texts("ports"), Methods: rule.texts("methods"), Paths: rule.texts("paths"),
		}
	}) {
		e.Rules = rules
	}
	e.Guarantees, _ = words[sandbox.Guarantee](o, "egress_guarantees")
	return e
}

func limitsOf(o object, name string) *sandbox.TransferLimits {
	limits, ok := o.child(name)
	if !ok {
		return nil
	}
	return &sandbox.TransferLimits{
		MaxBytesPerFile: limits.whole("max_bytes_per_file"),
		MaxTotalBytes:   limits.whole("max_total_bytes"),
		MaxFiles:        limits.whole("max_files"),
	}
}

func outputsOf(o object) map[string]sandbox.Output {
	outputs := map[string]sandbox.Output{}
	if !o.children("outputs", func(key string, output object) {
		outputs[key] = sandbox.Output{
			Path: output.text("path"), Name: output.text("name"), MediaType: output.text("media_type"),
			Optional: !output.flag("required", true), Disposition: word[sandbox.Disposition](output, "disposition"),
		}
	}) {
		return nil
	}
	return outputs
}
