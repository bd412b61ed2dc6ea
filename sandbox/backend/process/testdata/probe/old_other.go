//go:build !amd64

package main

// oldCall answers "no such call" where there is no old interface.
func oldCall(int64) int64 { return -38 }
