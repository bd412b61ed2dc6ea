package wire

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// CreateSandbox is the body that makes a sandbox.
type CreateSandbox struct {
	SourcesRef                 *SourcesRef         `json:"sourcesRef,omitzero"`
	PresetSandboxType          string              `json:"presetSandboxType,omitempty"`
	AnthropicAPIKey            string              `json:"anthropicApiKey,omitempty"`
	PresetProperties           Extra               `json:"presetProperties,omitempty"`
	Resources                  *Resources          `json:"resources,omitzero"`
	Lifecycle                  *Lifecycle          `json:"lifecycle,omitzero"`
	Labels                     Labels              `json:"labels,omitempty"`
	Environment                map[string]string   `json:"environment,omitempty"`
	Entrypoint                 []string            `json:"entrypoint,omitempty"`
	Cmd                        []string            `json:"cmd,omitempty"`
	WorkingDirectory           string              `json:"workingDirectory,omitempty"`
	Ports                      []Port              `json:"ports,omitempty"`
	Volumes                    []VolumeMount       `json:"volumes,omitempty"`
	EgressPolicy               *EgressPolicy       `json:"egressPolicy,omitzero"`
	EgressPolicyID             string              `json:"egressPolicyId,omitempty"`
	Connections                []string            `json:"connections,omitempty"`
	GatewayConnections         []GatewayConnection `json:"gatewayConnections,omitempty"`
	CredentialRefs             []jsontext.Value    `json:"credentialRefs,omitempty"`
	IdentitySettings           []IdentitySetting   `json:"identitySettings,omitempty"`
	SkipEgressProxy            bool                `json:"skipEgressProxy,omitzero"`
	CustomerVNetConnectionName string              `json:"customerVnetConnectionName,omitempty"`
	VNetConnectionName         string              `json:"vnetConnectionName,omitempty"`
	VMMType                    string              `json:"vmmType,omitempty"`
	ContentPackageDownloads    []PackageMount      `json:"contentPackageDownloads,omitempty"`
	AgentIdentity              Extra               `json:"agentIdentity,omitempty"`
	TelemetryConfig            Extra               `json:"telemetryConfig,omitempty"`
	ProjectID                  string              `json:"projectId,omitempty"`
	SandboxGroupID             string              `json:"sandboxGroupId,omitempty"`
	Extra                      Extra               `json:",embed"`
}

// ForVersion spells the network connection as version v does.
func (c CreateSandbox) ForVersion(v Version) CreateSandbox {
	name := firstText(c.CustomerVNetConnectionName, c.VNetConnectionName)
	c.CustomerVNetConnectionName, c.VNetConnectionName = name, ""
	if v == V0901 {
		c.CustomerVNetConnectionName, c.VNetConnectionName = "", name
	}
	return c
}

// SourcesRef says what a sandbox is made from: exactly one member.
type SourcesRef struct {
	DiskImage       *ImageRef    `json:"diskImage,omitzero"`
	Snapshot        *SnapshotRef `json:"snapshot,omitzero"`
	Pod             Extra        `json:"pod,omitempty"`
	ArtifactVersion Extra        `json:"artifactVersion,omitempty"`
	Extra           Extra        `json:",embed"`
}

// ImageRef is a public image by name, or one of the group's own by id. An answer
// gives a public one back by id, with IsPublic false: never compare a source by
// value.
type ImageRef struct {
	Name     string `json:"name,omitempty"`
	ID       string `json:"id,omitempty"`
	IsPublic bool   `json:"isPublic"`
	Extra    Extra  `json:",embed"`
}

// SnapshotRef is a snapshot by id.
type SnapshotRef struct {
	ID    string `json:"id"`
	Extra Extra  `json:",embed"`
}

// Resources are a sandbox's size, in the service's own units: "1000m", "2048Mi".
type Resources struct {
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	Disk   string `json:"disk,omitempty"`
	Extra  Extra  `json:",embed"`
}

// IdentitySetting says which of the group's identities the guest may use, and
// when.
type IdentitySetting struct {
	Identity string `json:"identity"`
	// Lifecycle is None, Main or All.
	Lifecycle string `json:"lifecycle"`
	Extra     Extra  `json:",embed"`
}

// PackageMount brings a content package into a sandbox.
type PackageMount struct {
	ContentPackageID string `json:"contentPackageId"`
	TargetPath       string `json:"targetPath"`
	Action           string `json:"action,omitempty"`
	Extra            Extra  `json:",embed"`
}

// Sandbox is a sandbox as the service shows it. Environment is not among what
// 2026-02-01-preview returns.
type Sandbox struct {
	ID                         string              `json:"id"`
	State                      string              `json:"state"`
	StateDetails               *StateDetails       `json:"stateDetails"`
	Labels                     Labels              `json:"labels"`
	CreatedAt                  string              `json:"createdAt,omitempty"`
	Region                     string              `json:"region,omitempty"`
	ManagementURL              string              `json:"managementUrl,omitempty"`
	VMMType                    string              `json:"vmmType,omitempty"`
	Resources                  *Resources          `json:"resources,omitzero"`
	SourcesRef                 *SourcesRef         `json:"sourcesRef,omitzero"`
	Lifecycle                  *Lifecycle          `json:"lifecycle,omitzero"`
	Ports                      []Port              `json:"ports"`
	Connections                []string            `json:"connections"`
	Volumes                    []VolumeMount       `json:"volumes"`
	ContentPackageDownloads    []PackageMount      `json:"contentPackageDownloads"`
	OutboundIPAddresses        []string            `json:"outboundIpAddresses,omitempty"`
	EgressPolicy               *EgressPolicy       `json:"egressPolicy,omitzero"`
	EgressPolicyID             string              `json:"egressPolicyId,omitempty"`
	SnapshotID                 string              `json:"snapshotId,omitempty"`
	ColdStorageSizeInMB        float64             `json:"coldStorageSizeInMB,omitzero"`
	Entrypoint                 []string            `json:"entrypoint,omitempty"`
	Cmd                        []string            `json:"cmd,omitempty"`
	WorkingDirectory           string              `json:"workingDirectory,omitempty"`
	Environment                map[string]string   `json:"environment,omitempty"`
	Hostname                   string              `json:"hostname,omitempty"`
	PresetSandboxType          string              `json:"presetSandboxType,omitempty"`
	SandboxGroupID             string              `json:"sandboxGroupId,omitempty"`
	CustomerVNetConnectionName string              `json:"customerVnetConnectionName,omitempty"`
	VNetConnectionName         string              `json:"vnetConnectionName,omitempty"`
	SkipEgressProxy            bool                `json:"skipEgressProxy,omitzero"`
	GatewayConnections         []GatewayConnection `json:"gatewayConnections,omitempty"`
	CredentialRefs             []jsontext.Value    `json:"credentialRefs,omitempty"`
	IdentitySettings           []IdentitySetting   `json:"identitySettings,omitempty"`
	AppURL                     string              `json:"appUrl,omitempty"`
	AgentIdentity              Extra               `json:"agentIdentity,omitempty"`
	ContainerStatuses          []jsontext.Value    `json:"containerStatuses,omitempty"`
	Extra                      Extra               `json:",embed"`
}

// StateDetails tells who stopped a sandbox. It stays after a later resume.
type StateDetails struct {
	StoppedReason string `json:"stoppedReason,omitempty"`
	StoppedAt     string `json:"stoppedAt,omitempty"`
	Extra         Extra  `json:",embed"`
}

// The states of a sandbox, and why one was stopped. States are compared by
// [SameState].
const (
	StateCreating   = "Creating"
	StateRunning    = "Running"
	StateStopping   = "Stopping"
	StateStopped    = "Stopped"
	StateSuspended  = "Suspended"
	StateResuming   = "Resuming"
	StateIdle       = "Idle"
	StateDeleting   = "Deleting"
	StateFailed     = "Failed"
	StateStopFailed = "StopFailed"

	StoppedIdle     = "Idle"
	StoppedDisabled = "Disabled"
	StoppedByUser   = "UserStopped"
)

// SameState compares states as the service's own clients do, without regard to
// case.
func SameState(state string, any ...string) bool {
	for _, a := range any {
		if strings.EqualFold(state, a) {
			return true
		}
	}
	return false
}

// Check reports what a sandbox document lacks of what everything else rests on.
func (s *Sandbox) Check() error {
	switch {
	case s.ID == "":
		return errors.New("a sandbox without id")
	case CheckSegment(s.ID) != nil:
		return errors.New("a sandbox whose id cannot stand in a path")
	case s.State == "":
		return errors.New("a sandbox without state")
	}
	return nil
}

// VolumeMount is a volume's place in a sandbox.
type VolumeMount struct {
	VolumeName string `json:"volumeName"`
	Mountpoint string `json:"mountpoint"`
	ReadOnly   bool   `json:"readOnly"`
	Extra      Extra  `json:",embed"`
}

// Stats is what the service measures of a sandbox. Its shape changed between
// versions, so it is kept as it came.
type Stats Extra
