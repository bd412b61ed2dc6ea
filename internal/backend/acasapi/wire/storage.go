package wire

import (
	"cmp"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Snapshot is a suspended copy of a sandbox: its disk, its memory, and with it
// whatever secrets stood there.
type Snapshot struct {
	ID                  string           `json:"id"`
	Labels              Labels           `json:"labels"`
	SandboxID           string           `json:"sandboxId,omitempty"`
	Status              jsontext.Value   `json:"status,omitzero"`
	CreatedAtUTC        string           `json:"createdAtUtc,omitempty"`
	Resources           *Resources       `json:"resources,omitzero"`
	SizeInMB            float64          `json:"sizeInMB,omitzero"`
	VMMType             string           `json:"vmmType,omitempty"`
	SourcePodContainers []jsontext.Value `json:"sourcePodContainers,omitempty"`
	Extra               Extra            `json:",embed"`
}

// Check reports a snapshot that cannot be referred to.
func (s *Snapshot) Check() error {
	if s.ID == "" || CheckSegment(s.ID) != nil {
		return errors.New("a snapshot without a usable id")
	}
	return nil
}

// Volume is storage of a group that outlives its sandboxes. It is made by name.
type Volume struct {
	VolumeName string `json:"volumeName,omitempty"`
	Name       string `json:"name,omitempty"`
	// Type is one of the Volume words.
	Type                       string         `json:"type,omitempty"`
	Size                       string         `json:"size,omitempty"`
	Labels                     Labels         `json:"labels,omitempty"`
	StorageContainerResourceID string         `json:"storageContainerResourceId,omitempty"`
	Auth                       *VolumeAuth    `json:"auth,omitzero"`
	Usage                      jsontext.Value `json:"usage,omitzero"`
	IsAttached                 bool           `json:"isAttached,omitzero"`
	AttachedSandboxID          string         `json:"attachedSandboxId,omitempty"`
	ClusterID                  string         `json:"clusterId,omitempty"`
	ProvisioningState          string         `json:"provisioningState,omitempty"`
	Extra                      Extra          `json:",embed"`
}

// Called is the volume's name, which the service tells under either of two.
func (v Volume) Called() string { return cmp.Or(v.VolumeName, v.Name) }

// The kinds of volumes.
const (
	VolumeBlob     = "AzureBlob"
	VolumeDisk     = "DataDisk"
	VolumeBlobByo  = "AzureBlobByo"
	VolumeFileCIFS = "AzureFileCifs"
	VolumeFileNFS  = "AzureFileNfs"
	VolumeElastic  = "Esan"
)

// VolumeAuth is how storage that is not the service's own is opened.
type VolumeAuth struct {
	Kind     string          `json:"kind"`
	Identity *VolumeIdentity `json:"identity,omitzero"`
	Extra    Extra           `json:",embed"`
}

// VolumeIdentity opens storage as an identity of the group.
type VolumeIdentity struct {
	Kind       string `json:"kind"`
	ResourceID string `json:"resourceId,omitempty"`
	Extra      Extra  `json:",embed"`
}

// Check reports a volume without the name one refers to it by.
func (v *Volume) Check() error {
	if firstText(v.VolumeName, v.Name) == "" {
		return errors.New("a volume without name")
	}
	return nil
}

// VolumeForkBody is the body that copies a volume.
type VolumeForkBody struct {
	DestinationVolumeName string `json:"destinationVolumeName"`
	Labels                Labels `json:"labels,omitempty"`
}

// VolumeMountBody is the body that attaches a volume.
type VolumeMountBody struct {
	VolumeMount VolumeMount `json:"volumeMount"`
}

// VolumeCounts is how many volumes a group has of each kind.
type VolumeCounts struct {
	Counts []VolumeTypeCount `json:"counts"`
	Extra  Extra             `json:",embed"`
}

// VolumeTypeCount is how many volumes there are of one kind.
type VolumeTypeCount struct {
	Type  string `json:"type"`
	Count int    `json:"count"`
	Extra Extra  `json:",embed"`
}

// Secret is what may be shown of a secret.
type Secret struct {
	ID        string   `json:"id"`
	Keys      []string `json:"keys,omitempty"`
	CreatedAt string   `json:"createdAt,omitempty"`
	UpdatedAt string   `json:"updatedAt,omitempty"`
	Extra     Extra    `json:",embed"`
}

// Check reports a secret without the id one refers to it by.
func (s *Secret) Check() error {
	if s.ID == "" {
		return errors.New("a secret without id")
	}
	return nil
}

// SecretValues is a secret in clear. Writing it replaces the whole.
type SecretValues struct {
	ID     string             `json:"id,omitempty"`
	Values *map[string]string `json:"values"`
	Extra  Extra              `json:",embed"`
}

// Check reports an answer that shows nothing.
func (s *SecretValues) Check() error {
	if s.Values == nil {
		return errors.New("a secret without values")
	}
	return nil
}

// SecretKeyList is the names inside a secret.
type SecretKeyList struct {
	Keys  *[]string `json:"keys"`
	Extra Extra     `json:",embed"`
}

// Check reports an answer without names.
func (s *SecretKeyList) Check() error {
	if s.Keys == nil {
		return errors.New("an answer without keys")
	}
	return nil
}

// ConnectionRef ties a connection of the group to a sandbox.
type ConnectionRef struct {
	ConnectionID string `json:"connectionId"`
}

// ConnectionIDs is the connections a sandbox has.
type ConnectionIDs struct {
	ConnectionIDs []string `json:"connectionIds"`
	Extra         Extra    `json:",embed"`
}

// Document is an object of which the contract says little more than that it
// exists; it is passed on as it came.
type Document = Extra

// Package is a content package.
type Package struct {
	ID          string  `json:"id"`
	Size        float64 `json:"size,omitzero"`
	Labels      Labels  `json:"labels,omitzero"`
	ContentType string  `json:"contentType,omitempty"`
	CreatedOn   string  `json:"createdOn,omitempty"`
	Extra       Extra   `json:",embed"`
}

// Check reports a package that cannot be referred to.
func (p *Package) Check() error {
	if p.ID == "" {
		return errors.New("a content package without id")
	}
	return nil
}
