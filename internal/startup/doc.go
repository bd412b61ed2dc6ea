// Package startup measures how long the provider's process takes from its start
// to the answer that Terraform waits for first, its schema, beside a bare
// framework provider in the same run. Terraform starts a provider three times in
// a plan, so this is time that every user pays.
//
// It has no code of its own; `make bench` runs its benchmark.
package startup
