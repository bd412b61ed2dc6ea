//go:build !linux

package conformance

import "context"

// MachineHolds is nil where nobody can tell: this system has no such backend.
func MachineHolds(string) func(context.Context) ([]string, error) { return nil }
