package main

// oldCall makes a call of the 32-bit interface from a 64-bit program.
func oldCall(number int64) int64
