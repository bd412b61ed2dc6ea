package manifest

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

// The wire types are the documents as JSON has them. Their field names are the
// attribute names of the Terraform objects. Absent and zero are one: every field
// that may be absent is written only when it says something, so that a document
// has one spelling. mapping.go is the only place that knows both sides.
type (
	manifestWire struct {
		APIVersion string                  `json:"api_version"`
		Document   string                  `json:"document"`
		Generation int64                   `json:"generation,omitzero"`
		Policy     policyWire              `json:"policy"`
		HostPolicy *policyWire             `json:"host_policy,omitzero"`
		Group      *groupWire              `json:"group,omitzero"`
		Guarantees map[string][]string     `json:"guarantees,omitzero"`
		Workloads  map[string]workloadWire `json:"workloads"`
	}

	policyDocument struct {
		APIVersion string     `json:"api_version"`
		Document   string     `json:"document"`
		Policy     policyWire `json:"policy"`
	}

	workloadDocument struct {
		APIVersion string       `json:"api_version"`
		Document   string       `json:"document"`
		Workload   workloadWire `json:"workload"`
	}

	groupWire struct {
		ID       string `json:"id"`
		Endpoint string `json:"endpoint,omitzero"`
		Location string `json:"location,omitzero"`
	}

	policyWire struct {
		Name                  string                        `json:"name,omitzero"`
		MinimumIsolation      sandbox.Isolation             `json:"minimum_isolation,omitzero"`
		MinimumEvidence       sandbox.EvidenceKind          `json:"minimum_evidence,omitzero"`
		MinimumIsolationScope sandbox.IsolationScope        `json:"minimum_isolation_scope,omitzero"`
		MinimumCleanup        sandbox.Cleanup               `json:"minimum_cleanup,omitzero"`
		DeniedCapabilities    []string                      `json:"denied_capabilities,omitzero"`
		DeniedIdentities      []string                      `json:"denied_identities,omitzero"`
		MaximumIdentityScope  sandbox.IdentityScope         `json:"maximum_identity_scope,omitzero"`
		EgressMode            sandbox.EgressMode            `json:"egress_mode,omitzero"`
		EgressHosts           []string                      `json:"egress_hosts,omitzero"`
		EgressRules           map[string]sandbox.EgressRule `json:"egress_rules,omitzero"`
		EgressGuarantees      []string                      `json:"egress_guarantees,omitzero"`
		EgressMatch           sandbox.EgressMatch           `json:"egress_match,omitzero"`
		MissingGuarantees     sandbox.MissingGuarantees     `json:"missing_guarantees,omitzero"`
		NeverReaches          []string                      `json:"never_reaches,omitzero"`
		FilesInLimits         *sandbox.TransferLimits       `json:"files_in_limits,omitzero"`
		FilesOutLimits        *sandbox.TransferLimits       `json:"files_out_limits,omitzero"`
		ImageRegistries       []string                      `json:"image_registries,omitzero"`
		ImageRequireDigest    bool                          `json:"image_require_digest,omitzero"`
		ImagePrebuilt         sandbox.PrebuiltRule          `json:"image_prebuilt,omitzero"`
		ImageUser             sandbox.ImageUser             `json:"image_user,omitzero"`
	}

	workloadWire struct {
		Kind                     string                        `json:"kind"`
		Backend                  string                        `json:"backend"`
		Image                    *imageWire                    `json:"image,omitzero"`
		Requires                 []string                      `json:"requires"`
		MinimumIsolation         sandbox.Isolation             `json:"minimum_isolation,omitzero"`
		IsolationScope           sandbox.IsolationScope        `json:"isolation_scope,omitzero"`
		MinimumCleanup           sandbox.Cleanup               `json:"minimum_cleanup,omitzero"`
		OSFamily                 sandbox.OSFamily              `json:"os_family,omitzero"`
		WorkDir                  string                        `json:"work_dir,omitzero"`
		Labels                   map[string]string             `json:"labels,omitzero"`
		EgressMode               sandbox.EgressMode            `json:"egress_mode,omitzero"`
		EgressHosts              []string                      `json:"egress_hosts,omitzero"`
		EgressRules              map[string]sandbox.EgressRule `json:"egress_rules,omitzero"`
		EgressGuarantees         []string                      `json:"egress_guarantees,omitzero"`
		FilesInLimits            *sandbox.TransferLimits       `json:"files_in_limits,omitzero"`
		FilesOutLimits           *sandbox.TransferLimits       `json:"files_out_limits,omitzero"`
		Outputs                  map[string]outputWire         `json:"outputs,omitzero"`
		OutputsNamedAtCallTime   bool                          `json:"outputs_named_at_call_time,omitzero"`
		Identities               []string                      `json:"identities,omitzero"`
		MaximumIdentityScope     sandbox.IdentityScope         `json:"maximum_identity_scope,omitzero"`
		IdentityRetentionSeconds int64                         `json:"identity_retention_seconds,omitzero"`
		ProgramProfile           string                        `json:"program_profile,omitzero"`
	}

	imageWire struct {
		Prebuilt  string `json:"prebuilt,omitzero"`
		Reference string `json:"reference,omitzero"`
		Digest    string `json:"digest,omitzero"`
		User      string `json:"user,omitzero"`
		Platform  string `json:"platform,omitzero"`
	}

	outputWire struct {
		Path        string              `json:"path"`
		Name        string              `json:"name,omitzero"`
		MediaType   string              `json:"media_type,omitzero"`
		Required    *bool               `json:"required,omitzero"` // only false is written
		Disposition sandbox.Disposition `json:"disposition,omitzero"`
	}

	backendDocument struct {
		APIVersion         string                  `json:"api_version"`
		Document           string                  `json:"document"`
		Backend            string                  `json:"backend"`
		Isolation          sandbox.Isolation       `json:"isolation"`
		IsolationEvidence  sandbox.Evidence        `json:"isolation_evidence,omitzero"`
		Capabilities       []string                `json:"capabilities,omitzero"`
		FilesInLimits      *sandbox.TransferLimits `json:"files_in_limits,omitzero"`
		FilesOutLimits     *sandbox.TransferLimits `json:"files_out_limits,omitzero"`
		EgressModes        []string                `json:"egress_modes,omitzero"`
		Guarantees         map[string]evidenceWire `json:"guarantees,omitzero"`
		MethodTokens       []string                `json:"method_tokens,omitzero"`
		ImageSources       []string                `json:"image_sources,omitzero"`
		OSFamilies         []string                `json:"os_families,omitzero"`
		IsolationScopes    []string                `json:"isolation_scopes,omitzero"`
		AttachedIdentity   *attachedIdentityWire   `json:"attached_identity,omitzero"`
		ProgramChannels    []channelWire           `json:"program_channels,omitzero"`
		WriteAuthority     sandbox.WriteAuthority  `json:"write_authority,omitzero"`
		ObservesEgress     bool                    `json:"observes_egress,omitzero"`
		ExclusiveAdmission bool                    `json:"exclusive_admission,omitzero"`
	}

	evidenceWire = sandbox.Evidence

	attachedIdentityWire struct {
		Scope            sandbox.IdentityScope `json:"scope"`
		RetentionSeconds int64                 `json:"retention_seconds"`
		Channels         []string              `json:"channels"`
	}

	channelWire struct {
		Name      string   `json:"name"`
		Profiles  []string `json:"profiles"`
		HostTools bool     `json:"host_tools,omitzero"`
		Needs     []string `json:"needs,omitzero"`
	}
)
