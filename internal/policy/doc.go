// Package policy is the decision: may this workload run on that backend under
// these policies? It is pure. It does no I/O, reads no clock, logs nothing, and
// answers the same for the same input, in a Terraform plan and in a live router.
//
// [CompilePolicy], [CompileSpec] and [CompileDeclarations] are the only doors
// that parse hosts and paths; they report everything that is wrong with one
// side alone. [Decide] then judges the three together and reports all findings,
// in the order of the checks table in decide.go.
//
// The decision is three-valued. What a plan does not know yet is marked beside
// the value (sandbox.Known) and yields undecided exactly where the answer could
// still go either way: knowing more never turns an allow into a deny or a deny
// into an allow. A deny that is certain already is a deny.
package policy
