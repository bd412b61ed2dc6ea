package acasemu

import (
	"context"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// catalogue is the public images, as the service's own command line listed them.
var catalogue = []string{
	"ubuntu", "copilot", "claude", "node-22", "node-24", "php-8.3", "php-8.4", "dotnet-8", "dotnet-9", "dotnet-10",
	"python-3.11", "python-3.12", "python-3.13", "python-3.14", "nginx", "openclaw", "ubuntu-systemd",
}

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
