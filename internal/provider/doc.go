// Package provider is everything Terraform, and nothing else: schemas, the
// mapping between Terraform's values and the vocabulary of package sandbox, and
// the walk from a plan to the decision and back to diagnostics. It decides
// nothing itself; internal/policy does, and the router asks the same package.
//
// Read first: input.go, which reads any Terraform value into the vocabulary with
// what is unknown marked beside it; admission.go, which asks for decisions;
// diagnostics.go, the one adapter from findings to what people see; widening.go,
// which holds a plan against what was applied before. Resources are in
// pure_resource.go, data sources in data_pure.go, functions in function_pure.go;
// each kind has one implementation and a row of evaluations.
//
// How to add an attribute to a policy or a workload:
//
//  1. the field in package sandbox, its check in internal/policy, its key in the
//     documents;
//  2. one line in policy_schema.go or workload_schema.go, always Optional, never
//     a Set and never with a Default: the same attributes are also read from
//     plain objects, and "required" is a finding;
//  3. one line in policy_model.go or workload_model.go;
//  4. regenerate testdata/schema.golden.json with -update and read the diff.
//
// Objects that live somewhere are one implementation too, remote_resource.go, with a
// kind each: home.go says where they live, remote_gone.go when a 404 is believed,
// remote_problem.go what people see of a failure. How to add a kind:
//
//  1. its model with the mapping to the wire documents, both ways: what the service
//     merely spells differently keeps the user's spelling, what was left out stays
//     null where the service has nothing;
//  2. its schema, whose attributes that cannot change are fixedText;
//  3. its operations, an objectKind: create looks first and gives an existsError,
//     reports what exists beside an error, and read fails with service.not_found;
//  4. a row in objectLives of the tests, an example with an import, and the docs.
//
// Whatever restricts stands at the root of its object, where Terraform refuses a
// misspelt name. Inside nested objects Terraform drops it without a word.
package provider
