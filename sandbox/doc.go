// Package sandbox is the vocabulary of this module: the words in which sandboxes
// are asked for, bounded, offered and refused, the same in Terraform, Go, JSON,
// the command line and the docs. It imports the standard library only, does no
// I/O and decides nothing; package internal/policy decides.
//
// Read [Spec], [Policy] and [Declarations] for the three sides of a decision,
// [Finding], [Decision] and [Refusal] for its outcome, and [Session] for what a
// host does with a sandbox once it has one.
//
// Zero values are safe. An unspecified word is no claim and no opinion; a
// verdict nobody set is [Deny].
package sandbox
