package mutants_test

// unnoticing are probes that no mutant makes fail, each with its reason.
var unnoticing = map[string]string{}
