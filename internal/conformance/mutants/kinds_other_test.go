//go:build !linux

package mutants_test

type kind struct {
	name    string
	mutants func() []mutant
}

// kinds are those that need no kernel of their own.
func kinds() []kind {
	return []kind{{"layer", layerMutants}, {"engine", engineMutants}}
}
