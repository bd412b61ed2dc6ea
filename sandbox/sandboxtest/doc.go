// Package sandboxtest is for tests of code that uses or makes sandboxes: an engine
// in memory that keeps real state, can be told to fail and can be attacked; a
// backend over it in one call; and the conformance suites for anybody's backend.
//
// Read [NewEngine] and [Backend] to test a host, [Run] to test a backend. A green
// run over the engine in memory says that the layers above have the right shape;
// it says nothing about a real guest.
package sandboxtest
