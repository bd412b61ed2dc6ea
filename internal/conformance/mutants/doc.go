// Package mutants holds nothing but tests: what keeps the conformance suites
// honest. They are run against layers, engines and sandboxes that each have one
// thing wrong, and have to notice every one; each probe has to notice at least one.
// docs/conformance.md is the table of both, and is checked for being current.
//
// Read mutants_test.go first.
package mutants
