//go:build !linux

package main

import "github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"

// guestEngines are none: what there is needs Linux.
func guestEngines() map[string]cli.GuestEngine { return nil }
