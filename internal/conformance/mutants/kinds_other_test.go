//go:build !linux

package mutants_test

import "testing"

type kind struct {
	name    string
	mutants func(*testing.T) []mutant
}

// kinds are those that need no kernel of their own.
func kinds() []kind {
	return []kind{{"layer", layerMutants}, {"engine", engineMutants}}
}
