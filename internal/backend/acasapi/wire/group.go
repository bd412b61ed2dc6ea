package wire

// Group is a sandbox group, as ARM knows it.
type Group struct {
	ID         string            `json:"id,omitempty"`
	Name       string            `json:"name,omitempty"`
	Type       string            `json:"type,omitempty"`
	Location   string            `json:"location"`
	Tags       map[string]string `json:"tags,omitzero"`
	Identity   *GroupIdentity    `json:"identity,omitzero"`
	Properties GroupProperties   `json:"properties"`
	SystemData Extra             `json:"systemData,omitempty"`
	Extra      Extra             `json:",embed"`
}

// GroupPatchBody changes parts of a group; what is nil stays.
type GroupPatchBody struct {
	Tags       map[string]string `json:"tags,omitzero"`
	Identity   *GroupIdentity    `json:"identity,omitzero"`
	Properties *GroupProperties  `json:"properties,omitzero"`
}

// GroupIdentity is the platform identity that sandboxes of the group may use.
// Version 2026-07-01 has none.
type GroupIdentity struct {
	// Type is one of the Identity words.
	Type        string                  `json:"type"`
	PrincipalID string                  `json:"principalId,omitempty"`
	TenantID    string                  `json:"tenantId,omitempty"`
	User        map[string]UserIdentity `json:"userAssignedIdentities,omitempty"`
	Extra       Extra                   `json:",embed"`
}

// UserIdentity is one user-assigned identity; it is empty in a request.
type UserIdentity struct {
	ClientID    string `json:"clientId,omitempty"`
	PrincipalID string `json:"principalId,omitempty"`
	Extra       Extra  `json:",embed"`
}

// The types of a group's identity.
const (
	IdentityNone       = "None"
	IdentitySystem     = "SystemAssigned"
	IdentityUser       = "UserAssigned"
	IdentitySystemUser = "SystemAssigned, UserAssigned"
)

// GroupProperties is the body of a group. Most fields belong to a richer preview
// that may not be deployed everywhere.
type GroupProperties struct {
	ProvisioningState     string              `json:"provisioningState,omitempty"`
	EnvironmentID         string              `json:"environmentId,omitempty"`
	DefaultDomain         string              `json:"defaultDomain,omitempty"`
	ManagementEndpoint    string              `json:"managementEndpoint,omitempty"`
	EnableDetailedMetrics *bool               `json:"enableDetailedMetrics,omitzero"`
	DefaultCPU            string              `json:"defaultCpu,omitempty"`
	DefaultMemory         string              `json:"defaultMemory,omitempty"`
	DefaultDisk           string              `json:"defaultDisk,omitempty"`
	MaxSandboxCount       int                 `json:"maxSandboxCount,omitzero"`
	DefaultTimeoutSeconds int                 `json:"defaultTimeoutSeconds,omitzero"`
	GatewayConnections    []GatewayConnection `json:"gatewayConnections,omitempty"`
	Extra                 Extra               `json:",embed"`
}

// GatewayConnection ties a group or a sandbox to a gateway.
type GatewayConnection struct {
	ResourceID     string `json:"resourceId"`
	MCPRuntimeURL  string `json:"mcpRuntimeUrl,omitempty"`
	Authentication Extra  `json:"authentication,omitempty"`
	Extra          Extra  `json:",embed"`
}

// VNetConnection lets sandboxes of a group be attached to a subnet.
type VNetConnection struct {
	ID         string         `json:"id,omitempty"`
	Name       string         `json:"name,omitempty"`
	Type       string         `json:"type,omitempty"`
	Location   string         `json:"location,omitempty"`
	Properties VNetProperties `json:"properties"`
	SystemData Extra          `json:"systemData,omitempty"`
	Extra      Extra          `json:",embed"`
}

// VNetProperties names the subnet, which cannot change.
type VNetProperties struct {
	SubnetID          string `json:"subnetId"`
	ProvisioningState string `json:"provisioningState,omitempty"`
	Extra             Extra  `json:",embed"`
}

// Status is the document of a long-running ARM operation.
type Status struct {
	ID        string        `json:"id,omitempty"`
	Name      string        `json:"name,omitempty"`
	Status    string        `json:"status"`
	StartTime string        `json:"startTime,omitempty"`
	EndTime   string        `json:"endTime,omitempty"`
	Error     *ARMErrorBody `json:"error,omitzero"`
	Extra     Extra         `json:",embed"`
}

// The states of an ARM operation and of a resource. Others are on the way to one
// of the first three.
const (
	ARMSucceeded  = "Succeeded"
	ARMFailed     = "Failed"
	ARMCanceled   = "Canceled"
	ARMInProgress = "InProgress"
	ARMUpdating   = "Updating"
	ARMDeleting   = "Deleting"
)
