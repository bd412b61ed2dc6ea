// Package terraformtest is the real command line with a provider that is built from
// this module, as a process of its own: for tests and measurements of what a provider
// in the test's process does not show.
package terraformtest
