package wire

import (
	"errors"
	"strings"
)

// CreateImage is the body that makes a disk image from a registry reference.
type CreateImage struct {
	Image                     *ImageSource         `json:"image,omitzero"`
	Source                    *ImageBuild          `json:"source,omitzero"`
	Name                      string               `json:"name,omitempty"`
	Labels                    Labels               `json:"labels,omitempty"`
	RegistryCredentials       *RegistryCredentials `json:"registryCredentials,omitzero"`
	ManagedIdentityResourceID string               `json:"managedIdentityResourceId,omitempty"`
	ManagedIdentityClientID   string               `json:"managedIdentityClientId,omitempty"`
	VNetConnectionName        string               `json:"vnetConnectionName,omitempty"`
	Extra                     Extra                `json:",embed"`
}

// ImageSource is the reference an image is made from, and what it starts.
type ImageSource struct {
	Base       string   `json:"base"`
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	Extra      Extra    `json:",embed"`
}

// RegistryCredentials opens a private registry.
type RegistryCredentials struct {
	Username string `json:"username"`
	Token    string `json:"token"`
}

// ImageBuild is the newer spelling of a source.
type ImageBuild struct {
	Kind           string               `json:"kind"`
	ImageURL       string               `json:"imageUrl,omitempty"`
	BlobSourceURI  string               `json:"blobSourceUri,omitempty"`
	Authentication *ImageAuthentication `json:"authentication,omitzero"`
	Extra          Extra                `json:",embed"`
}

// ImageAuthentication is how a registry is opened: exactly one member.
type ImageAuthentication struct {
	RegistryCredentials *RegistryCredentials `json:"registryCredentials,omitzero"`
	Identity            *ImageIdentity       `json:"identity,omitzero"`
}

// ImageIdentity pulls as an identity of the group.
type ImageIdentity struct {
	Type               string `json:"type"`
	IdentityResourceID string `json:"identityResourceId,omitempty"`
}

// ForVersion spells the source as version v does. Entrypoint and Cmd have no place
// in the newer spelling and are refused there rather than dropped.
func (c CreateImage) ForVersion(v Version) (CreateImage, error) {
	if v != V0901 || c.Image == nil {
		return c, nil
	}
	if len(c.Image.Entrypoint)+len(c.Image.Cmd) > 0 {
		return CreateImage{}, errors.New("entrypoint and cmd of an image cannot be said in " + string(V0901))
	}
	build := &ImageBuild{Kind: "registry", ImageURL: c.Image.Base}
	switch {
	case c.RegistryCredentials != nil:
		build.Authentication = &ImageAuthentication{RegistryCredentials: c.RegistryCredentials}
	case c.ManagedIdentityResourceID == "system":
		build.Authentication = &ImageAuthentication{Identity: &ImageIdentity{Type: IdentitySystem}}
	case c.ManagedIdentityResourceID != "":
		build.Authentication = &ImageAuthentication{Identity: &ImageIdentity{Type: IdentityUser, IdentityResourceID: c.ManagedIdentityResourceID}}
	}
	c.Source, c.Image, c.RegistryCredentials, c.ManagedIdentityResourceID = build, nil, nil, ""
	return c, nil
}

// Image is a disk image: one of the group's own, or of the public catalogue.
type Image struct {
	ID                string       `json:"id"`
	Name              string       `json:"name,omitempty"`
	Description       string       `json:"description,omitempty"`
	Tags              Extra        `json:"tags,omitzero"`
	Labels            Labels       `json:"labels,omitzero"`
	Image             *ImageSource `json:"image,omitzero"`
	Source            *ImageBuild  `json:"source,omitzero"`
	Status            *ImageStatus `json:"status,omitzero"`
	SizeInMB          float64      `json:"sizeInMB,omitzero"`
	Resources         *Resources   `json:"resources,omitzero"`
	DockerfileContent string       `json:"dockerfileContent,omitempty"`
	Extra             Extra        `json:",embed"`
}

// ImageStatus is how far an image is. A failed one says why in either field.
type ImageStatus struct {
	State        string `json:"state"`
	ErrorMessage string `json:"errorMessage,omitempty"`
	Message      string `json:"message,omitempty"`
	CreatedAt    string `json:"createdAt,omitempty"`
	UpdatedAt    string `json:"updatedAt,omitempty"`
	Extra        Extra  `json:",embed"`
}

// The states of an image. Every other word is on the way to one of these.
const (
	ImageReady     = "Ready"
	ImageSucceeded = "Succeeded"
	ImageFailed    = "Failed"
	ImageBuilding  = "Building"
)

// State is the image's state, empty when it says none.
func (i *Image) State() string {
	if i.Status == nil {
		return ""
	}
	return i.Status.State
}

// Why is what a failed image says of its failure, in the service's own words, of
// any length.
func (i *Image) Why() string {
	if i.Status == nil {
		return ""
	}
	return firstText(i.Status.ErrorMessage, i.Status.Message)
}

// Reference is what the image was made from, in either spelling; empty for one that
// was not made from a registry, or does not say.
func (i *Image) Reference() string {
	switch {
	case i.Image != nil:
		return i.Image.Base
	case i.Source != nil:
		return i.Source.ImageURL
	default:
		return ""
	}
}

// Check reports an image that cannot be referred to.
func (i *Image) Check() error {
	if i.ID == "" || CheckSegment(i.ID) != nil {
		return errors.New("a disk image without a usable id")
	}
	return nil
}

// PublicCheck reports a catalogue entry without the name one refers to it by. The
// newer catalogue has no ids.
func (i *Image) PublicCheck() error {
	if i.Name == "" {
		return errors.New("a public image without name")
	}
	return nil
}

// LabelsBody is the body of operations that only name what they make.
type LabelsBody struct {
	Labels Labels `json:"labels,omitempty"`
}

// ReadCommit reads the answer to a commit: {diskImage:{…}}, a bare image, or the
// older {diskImageId}. Of the last only the id is known.
func ReadCommit(b []byte) (Image, error) {
	var doc struct {
		DiskImage   *Image `json:"diskImage"`
		DiskImageID string `json:"diskImageId"`
		Extra       Extra  `json:",embed"`
	}
	if err := Decode(b, &doc); err != nil {
		return Image{}, err
	}
	var image Image
	switch {
	case doc.DiskImage != nil:
		image = *doc.DiskImage
	case doc.DiskImageID != "":
		image.ID = doc.DiskImageID
	default:
		if err := Decode(b, &image); err != nil {
			return Image{}, err
		}
	}
	return image, image.Check()
}

// Commit is the answer to a commit, as it is written.
type Commit struct {
	DiskImage Image `json:"diskImage"`
}

// NamesRegistry reports whether a reference states its registry. One that does not
// means another image to everybody who completes it.
func NamesRegistry(reference string) bool {
	host, rest, _ := strings.Cut(reference, "/")
	return rest != "" && strings.ContainsAny(host, ".:") && !strings.Contains(reference, "://") && !strings.ContainsAny(reference, " \t\n\\?#")
}
