package acasguests

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
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

// mount shows a volume in the guest, and again whenever that is started anew.
func (b *box) mount(ctx context.Context, m acasemu.Mount) error {
	if b.guest == nil {
		return engine.ErrGone
	}
	err := b.guest.Attach(ctx, m.Dir, m.Path, m.ReadOnly)
	if errors.Is(err, process.ErrCannotAttach) {
		return &acasemu.Unsupported{Title: "VolumesAreNotPlayed", Detail: "volumes need an emulator that root runs, on Linux 5.12 or later"}
	}
	if err != nil {
		return fmt.Errorf("mount a volume: %w", err)
	}
	b.mounts = append(b.mounts, m)
	return nil
}
