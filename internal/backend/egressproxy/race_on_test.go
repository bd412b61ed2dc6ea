//go:build race

package egressproxy

// raced: everything is ten times slower, so that long tests do a tenth.
const raced = true
