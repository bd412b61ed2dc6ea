//go:build linux

package main

// forbiddenHere are the calls that this processor has beside.
func forbiddenHere() []systemCall { return nil }

// otherABIs is empty: a 64-bit program of this processor cannot make 32-bit calls.
var otherABIs []string

func otherABI(string) bool { return false }
