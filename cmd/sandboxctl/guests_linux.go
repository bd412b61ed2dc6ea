package main

import (
	"context"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasguests"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
)

// The bounds of one emulated sandbox, whatever size it is made with: its files are
// in memory.
const (
	guestMemory = 4 << 30
	guestWork   = 2 << 30
)

// guestEngines are what runs inside emulated sandboxes.
func guestEngines() map[string]cli.GuestEngine {
	return map[string]cli.GuestEngine{process.Name: processGuests}
}

func processGuests(ctx context.Context, o cli.GuestOptions) (acasemu.Guests, error) {
	config := processConfig(process.RuntimeBubblewrap, o.Notice)
	config.MemoryBytes, config.WorkBytes = guestMemory, guestWork
	guests, err := acasguests.New(ctx, acasguests.Config{Process: config, Dir: o.Dir, Resolve: o.Resolve})
	if err != nil {
		return nil, err
	}
	return guests, nil
}
