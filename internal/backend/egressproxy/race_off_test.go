//go:build !race

package egressproxy

const raced = false
