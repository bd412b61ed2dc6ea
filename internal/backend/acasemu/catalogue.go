package acasemu

import (
	"context"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/prebuilt"
)

// catalogue is the public images.
var catalogue = prebuilt.Snapshot().Names()

// publicID is the id by which answers name a public image.
func publicID(name string) string { return idOf("public image " + name) }

func publicImage(c *call, name string) wire.Image {
	image := wire.Image{Name: name, Status: &wire.ImageStatus{State: wire.ImageReady}}
	if c.version != wire.V0901 {
		image.ID, image.Description, image.Tags = publicID(name), name+" image", wire.Extra{}
	}
	return image
}

func (e *Emulator) publicList(ctx context.Context, c *call) (answer, error) {
	if err := e.inGroup(ctx, c); err != nil {
		return answer{}, err
	}
	all := make([]wire.Image, 0, len(catalogue))
	for _, name := range catalogue {
		all = append(all, publicImage(c, name))
	}
	return dataPage(e, c, all)
}

func (e *Emulator) publicGet(ctx context.Context, c *call) (answer, error) {
	if err := e.inGroup(ctx, c); err != nil {
		return answer{}, err
	}
	if name := c.seg[wire.SegImage]; slices.Contains(catalogue, name) {
		return ok(publicImage(c, name))
	}
	return answer{}, refuse(404, "DiskImageNotFound", "there is no public disk image of that name")
}

// inGroup refuses what is asked of a group that is not there.
func (e *Emulator) inGroup(ctx context.Context, c *call) error {
	return e.store.View(ctx, func(tx *store.Tx) error {
		_, err := e.dataGroup(tx, c)
		return err
	})
}
