package mutants_test

type kind struct {
	name    string
	mutants func() []mutant
}

func kinds() []kind {
	return []kind{{"layer", layerMutants}, {"engine", engineMutants}, {"real", realMutants}, {"exec", execMutants}, {"sandbox", wallMutants}, {"host", hostMutants}, {"proxy", proxyMutants}, {"outlet", outletMutants}}
}
