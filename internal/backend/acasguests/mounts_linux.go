package acasguests

import (
	"context"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
)

// Mount adds a volume to a running guest.
func (g *Guests) Mount(ctx context.Context, id string, m acasemu.Mount) error {
	b, err := g.box(id)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mount(ctx, m)
}

func (b *box) mount(context.Context, acasemu.Mount) error {
	return &acasemu.Unsupported{Title: "VolumesAreNotPlayed", Detail: "these guests have no volumes; use the files of the sandbox"}
}
