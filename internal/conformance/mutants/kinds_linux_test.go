package mutants_test

import "testing"

type kind struct {
	name    string
	mutants func(*testing.T) []mutant
}

func kinds() []kind {
	return []kind{{"layer", layerMutants}, {"engine", engineMutants}, {"exec", execMutants}, {"sandbox", wallMutants}, {"host", hostMutants}}
}
