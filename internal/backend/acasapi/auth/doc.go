// Package auth signs in to Entra ID, in the one way that was chosen.
//
// A chain that tries one method after another picks the wrong identity in silence and
// blames the last one it tried. Here a method is chosen by the configuration, or read
// from the variables that people already set for Terraform's Azure providers and the
// Azure SDKs; two that contradict each other are refused; a failure names the method,
// why it was chosen and which settings it used; a chain is tried when it is asked for
// by name.
//
// Nothing is asked of anybody before the first token is. No secret appears in an
// error, nor in a [Config] that is printed.
//
// Read [Method] and [Config] first, then [FromEnvironment] and [New].
package auth
