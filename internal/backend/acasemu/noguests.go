package acasemu

import (
	"context"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// NoGuests are sandboxes with nothing inside: they are made, listed, stopped and
// deleted, and answer every command and every file operation with the reason why
// there is none. They are what a control plane without a machine needs.
type NoGuests struct{}

var _ Guests = NoGuests{}

func nobody() error {
	return &Unsupported{
		Title:  "EmulatorHasNoGuests",
		Detail: `start the emulator with --engine process: with "none" no sandbox runs commands or holds files`,
	}
}

// Start makes nothing.
func (NoGuests) Start(context.Context, Boot) error { return nil }

// Guest says why there is none.
func (NoGuests) Guest(context.Context, string) (Guest, error) { return nil, nobody() }

// Suspend has nothing to suspend.
func (NoGuests) Suspend(context.Context, string, bool) error { return nil }

// Resume has nothing to resume.
func (NoGuests) Resume(context.Context, string) error { return nil }

// Delete has nothing to delete.
func (NoGuests) Delete(context.Context, string) error { return nil }

// Save keeps nothing.
func (NoGuests) Save(context.Context, string, string) (int64, error) { return 0, nil }

// Discard has nothing to remove.
func (NoGuests) Discard(context.Context, string) error { return nil }

// Mount mounts nothing.
func (NoGuests) Mount(context.Context, string, Mount) error { return nil }

// SetEgress confines nobody.
func (NoGuests) SetEgress(context.Context, string, Egress) error { return nil }

// Decisions are none.
func (NoGuests) Decisions(context.Context, string) (wire.DecisionLog, error) {
	return wire.DecisionLog{}, nil
}

// Stats are zero.
func (NoGuests) Stats(context.Context, string) (Stats, error) { return Stats{}, nil }

// Close ends nothing.
func (NoGuests) Close(context.Context) error { return nil }
