package provider

import (
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// cannotBeWritten says why a world of the decision table cannot be written in
// Terraform.
func cannotBeWritten(w conformance.World) string {
	if w.HostFloor != sandbox.IsolationUnspecified {
		return "the host's own floor is only known where the host runs"
	}
	if _, err := manifest.EncodeDeclarations(w.Backend); err != nil {
		return "declarations that no backend_facts can carry"
	}
	return ""
}

// written is a world as a user writes it: a workload whose policy stands in it as
// an object, with notKnown wherever the world is.
func written(w conformance.World) (map[string]any, error) {
	facts, err := manifest.EncodeDeclarations(w.Backend)
	if err != nil {
		return nil, err
	}
	attrs := workloadAttrs(w.Workload)
	attrs["policy"] = policyAttrs(w.Policy)
	attrs["backend_facts"] = string(facts)
	for _, path := range w.Unknown {
		hide(attrs, path)
	}
	return attrs, nil
}

// hide replaces what stands at a path of an object by notKnown. What the path leads
// through and is not there is made.
func hide(attrs map[string]any, path sandbox.FieldPath) {
	name, ok := path[0].Attr()
	if !ok {
		name, _ = path[0].MapKey()
	}
	attrs[name] = hidden(attrs[name], path[1:])
}

func hidden(v any, path sandbox.FieldPath) any {
	if len(path) == 0 {
		return notKnown{}
	}
	if i, ok := path[0].Index(); ok {
		list := slices.Clone(plainList(v))
		for len(list) <= i {
			list = append(list, nil)
		}
		list[i] = hidden(list[i], path[1:])
		return list
	}
	object := map[string]any{}
	switch m := v.(type) {
	case map[string]any:
		object = m
	case map[string]string:
		object = stringsAsAny(m)
	}
	hide(object, path)
	return object
}

// stated collects attributes that say something; the rest stay null.
type stated map[string]any

func (a stated) word(name, text string) {
	if text != "" {
		a[name] = text
	}
}

func (a stated) words(name string, texts []string, stated bool) {
	if stated {
		a[name] = texts
	}
}

func (a stated) limits(name string, l *sandbox.TransferLimits) {
	if l != nil {
		a[name] = map[string]any{
			"max_bytes_per_file": l.MaxBytesPerFile, "max_total_bytes": l.MaxTotalBytes, "max_files": l.MaxFiles,
		}
	}
}

func (a stated) egress(e sandbox.Egress) {
	a.word("egress_mode", e.Mode.String())
	a.words("egress_hosts", e.Hosts, e.Hosts != nil)
	a.words("egress_guarantees", e.Guarantees.Strings(), !e.Guarantees.Empty())
	if e.Rules == nil {
		return
	}
	rules := map[string]any{}
	for name, r := range e.Rules {
		rule := stated{}
		rule.word("host", r.Host)
		rule.words("ports", r.Ports, r.Ports != nil)
		rule.words("methods", r.Methods, r.Methods != nil)
		rule.words("paths", r.Paths, r.Paths != nil)
		rules[name] = map[string]any(rule)
	}
	a["egress_rules"] = rules
}

func policyAttrs(p sandbox.Policy) map[string]any {
	a := stated{}
	a.word("name", p.Name)
	a.word("minimum_isolation", p.MinimumIsolation.String())
	a.word("minimum_evidence", p.MinimumEvidence.String())
	a.word("minimum_isolation_scope", p.MinimumIsolationScope.String())
	a.word("minimum_cleanup", p.MinimumCleanup.String())
	a.words("denied_capabilities", p.DeniedCapabilities.Strings(), !p.DeniedCapabilities.Empty())
	a.words("denied_identities", p.DeniedIdentities.Strings(), !p.DeniedIdentities.Empty())
	a.word("maximum_identity_scope", p.MaximumIdentityScope.String())
	a.egress(p.Egress)
	a.word("egress_match", p.EgressMatch.String())
	a.word("missing_guarantees", p.MissingGuarantees.String())
	a.words("never_reaches", p.NeverReaches, p.NeverReaches != nil)
	a.limits("files_in_limits", p.FilesIn)
	a.limits("files_out_limits", p.FilesOut)
	a.words("image_registries", p.Images.Registries, p.Images.Registries != nil)
	if p.Images.RequireDigest {
		a["image_require_digest"] = true
	}
	a.word("image_prebuilt", p.Images.Prebuilt.String())
	a.word("image_user", p.Images.User.String())
	return a
}

func workloadAttrs(s sandbox.Spec) map[string]any {
	a := stated{"kind": s.Kind, "backend": s.Backend}
	if i := s.Image; !i.IsZero() {
		image := stated{}
		image.word("prebuilt", i.Prebuilt)
		image.word("reference", i.Reference)
		image.word("digest", i.Digest)
		image.word("user", i.User)
		image.word("platform", i.Platform)
		a["image"] = map[string]any(image)
	}
	if s.Requires != nil {
		a["requires"] = s.Requires.Strings()
	}
	a.word("minimum_isolation", s.MinimumIsolation.String())
	a.word("isolation_scope", s.IsolationScope.String())
	a.word("minimum_cleanup", s.MinimumCleanup.String())
	a.word("os_family", s.OSFamily.String())
	a.word("work_dir", s.WorkDir)
	if s.Labels != nil {
		a["labels"] = s.Labels
	}
	a.egress(s.Egress)
	a.limits("files_in_limits", s.FilesIn)
	a.limits("files_out_limits", s.FilesOut)
	a.outputs(s)
	a.words("identities", s.Identities.Strings(), !s.Identities.Empty())
	a.word("maximum_identity_scope", s.MaximumIdentityScope.String())
	if s.IdentityRetentionSeconds != 0 {
		a["identity_retention_seconds"] = s.IdentityRetentionSeconds
	}
	a.word("program_profile", s.ProgramProfile)
	return a
}

func (a stated) outputs(s sandbox.Spec) {
	if s.OutputsNamedAtCallTime {
		a["outputs_named_at_call_time"] = true
	}
	if s.Outputs == nil {
		return
	}
	outputs := map[string]any{}
	for name, o := range s.Outputs {
		output := stated{"required": !o.Optional}
		output.word("path", o.Path)
		output.word("name", o.Name)
		output.word("media_type", o.MediaType)
		output.word("disposition", o.Disposition.String())
		outputs[name] = map[string]any(output)
	}
	a["outputs"] = outputs
}
