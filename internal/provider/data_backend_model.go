package provider

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// backend maps declarations to the attributes of sandbox_backend.
func (t computedTypes) backend(d sandbox.Declarations, source string) computed {
	return computed{
		"name":                textValue(d.Backend),
		"source":              textValue(source),
		"isolation":           textOrNull(d.Isolation.String()),
		"isolation_evidence":  evidenceValue(t["isolation_evidence"], d.IsolationEvidence),
		"capabilities":        textsValue(d.Capabilities.Strings()),
		"egress_modes":        textsValue(d.EgressModes.Strings()),
		"guarantees":          guaranteesValue(t["guarantees"], d.Guarantees),
		"method_tokens":       textsOrNull(d.MethodTokens),
		"files_in_limits":     limitsValue(t["files_in_limits"], d.FilesIn),
		"files_out_limits":    limitsValue(t["files_out_limits"], d.FilesOut),
		"image_sources":       textsValue(d.ImageSources.Strings()),
		"os_families":         textsValue(d.OSFamilies.Strings()),
		"isolation_scopes":    textsValue(d.IsolationScopes.Strings()),
		"write_authority":     textValue(d.WriteAuthority.String()),
		"attached_identity":   attachedIdentityValue(t["attached_identity"], d.AttachedIdentity),
		"program_channels":    channelsValue(t["program_channels"], d.ProgramChannels),
		"observes_egress":     flagValue(d.ObservesEgress),
		"exclusive_admission": flagValue(d.ExclusiveAdmission),
	}
}

func evidenceValue(typ tftypes.Type, e sandbox.Evidence) tftypes.Value {
	if e.Kind == sandbox.EvidenceKindUnspecified {
		return tftypes.NewValue(typ, nil)
	}
	return tftypes.NewValue(typ, map[string]tftypes.Value{
		"kind": textValue(e.Kind.String()), "reference": textOrNull(e.Reference),
	})
}

func guaranteesValue(typ tftypes.Type, given map[sandbox.Guarantee]sandbox.Evidence) tftypes.Value {
	elements := make(map[string]tftypes.Value, len(given))
	for g, e := range given {
		elements[g.String()] = evidenceValue(elementType(typ), e)
	}
	return tftypes.NewValue(typ, elements)
}

func limitsValue(typ tftypes.Type, l *sandbox.TransferLimits) tftypes.Value {
	return tftypes.NewValue(typ, map[string]tftypes.Value{
		"max_bytes_per_file": numberValue(l.MaxBytesPerFile),
		"max_total_bytes":    numberValue(l.MaxTotalBytes),
		"max_files":          numberValue(l.MaxFiles),
	})
}

func attachedIdentityValue(typ tftypes.Type, a sandbox.AttachedIdentity) tftypes.Value {
	if !a.Attached() {
		return tftypes.NewValue(typ, nil)
	}
	return tftypes.NewValue(typ, map[string]tftypes.Value{
		"scope":             textValue(a.Scope.String()),
		"retention_seconds": numberValue(a.RetentionSeconds),
		"channels":          textsValue(a.Channels.Strings()),
	})
}

func channelsValue(typ tftypes.Type, channels []sandbox.ProgramChannel) tftypes.Value {
	elements := make([]tftypes.Value, len(channels))
	for i, c := range channels {
		elements[i] = tftypes.NewValue(elementType(typ), map[string]tftypes.Value{
			"name": textValue(c.Name), "profiles": textsValue(c.Profiles),
			"host_tools": flagValue(c.HostTools), "needs": textsValue(c.Needs.Strings()),
		})
	}
	return tftypes.NewValue(typ, elements)
}
