package acasemu

import (
	"net/http"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// source is what a sandbox is made from.
type source struct {
	image Image
	// disk is the id of a disk image of the group.
	disk string
	// shown is how answers name it: public images by id too.
	shown     *wire.SourcesRef
	resources *wire.Resources
	// leastDiskMi is the least disk that an image made of a sandbox boots on.
	leastDiskMi int64
	// hidden is the environment that a snapshot carries.
	hidden store.Sealed
}

// sourceOf reads what a create names.
func (e *Emulator) sourceOf(tx *store.Tx, c *call, b *wire.CreateSandbox) (source, error) {
	preset := b.PresetSandboxType != "" && b.PresetSandboxType != "None"
	switch ref := b.SourcesRef; {
	case preset:
		return presetSource(b)
	case ref == nil || (ref.DiskImage == nil && ref.Snapshot == nil):
		return source{}, invalid("sourcesRef is required unless a preset type is used")
	case ref.DiskImage != nil && ref.Snapshot != nil:
		return source{}, invalid("sourcesRef has exactly one source")
	case ref.Snapshot != nil:
		return e.snapshotSource(tx, c, ref.Snapshot.ID)
	case ref.DiskImage.IsPublic:
		return publicSource(ref.DiskImage, b.Resources)
	default:
		return e.imageSource(tx, c, ref.DiskImage.ID, b.Resources)
	}
}

func presetSource(b *wire.CreateSandbox) (source, error) {
	names := map[string]string{"GitHubCopilot": "copilot", "Claude": "claude"}
	name, known := names[b.PresetSandboxType]
	if !known {
		return source{}, invalid("presetSandboxType is None, GitHubCopilot or Claude")
	}
	s := source{image: Image{Public: name}, resources: b.Resources, shown: publicRef(name)}
	if s.resources == nil {
		s.resources = &wire.Resources{CPU: "1000m", Memory: "2048Mi"}
	}
	return s, nil
}

func publicSource(ref *wire.ImageRef, r *wire.Resources) (source, error) {
	name := ref.Name
	for _, known := range catalogue {
		if ref.ID != "" && ref.ID == publicID(known) {
			name = known
		}
	}
	if !slices.Contains(catalogue, name) {
		return source{}, refuse(http.StatusNotFound, "DiskImageNotFound", "there is no public disk image of that name")
	}
	return source{image: Image{Public: name}, shown: publicRef(name), resources: r}, nil
}

func publicRef(name string) *wire.SourcesRef {
	return &wire.SourcesRef{DiskImage: &wire.ImageRef{ID: publicID(name)}}
}

func (e *Emulator) imageSource(tx *store.Tx, c *call, id string, r *wire.Resources) (source, error) {
	for _, name := range catalogue { // what an answer gave can be given back
		if id == publicID(name) {
			return publicSource(&wire.ImageRef{Name: name}, r)
		}
	}
	image, ok, err := store.Get[imageRecord](tx, kindImage, append(c.groupKey(), id))
	switch {
	case err != nil:
		return source{}, err
	case !ok:
		return source{}, refuse(http.StatusNotFound, "DiskImageNotFound", "the disk image was not found")
	case image.Image.State() != wire.ImageReady && !(image.Pending != nil && image.Pending.over(c.now) && image.Pending.Goal == wire.ImageReady):
		return source{}, refuse(http.StatusConflict, "DiskImageNotReady", "the disk image is not ready")
	case image.Expired || c.fault.Image == "expired":
		return source{}, refuse(http.StatusNotFound, "DiskImageExpired", "the disk image has expired")
	}
	return source{
		image: e.startsFrom(&image), disk: id, resources: r, leastDiskMi: image.DiskMi,
		shown: &wire.SourcesRef{DiskImage: &wire.ImageRef{ID: id}},
	}, nil
}

// startsFrom is where the guest of an image's sandbox comes from.
func (e *Emulator) startsFrom(r *imageRecord) Image {
	if r.Saved != "" {
		from := r.From
		return Image{Saved: r.Saved, User: from.User}
	}
	known := e.images[r.Image.Image.Base]
	return Image{Reference: r.Image.Image.Base, Layout: known.Layout, User: known.User}
}

func (e *Emulator) snapshotSource(tx *store.Tx, c *call, id string) (source, error) {
	n, ok, err := store.Get[snapshotRecord](tx, kindSnapshot, append(c.groupKey(), id))
	if err != nil {
		return source{}, err
	}
	if !ok {
		return source{}, refuse(http.StatusNotFound, "SnapshotNotFound", "the snapshot was not found")
	}
	return source{
		image: Image{Saved: n.Saved, User: n.From.User}, resources: n.Snapshot.Resources, hidden: n.Hidden,
		shown: &wire.SourcesRef{Snapshot: &wire.SnapshotRef{ID: id}},
	}, nil
}
