//go:build !linux

package mutants_test

import "testing"

func runInOwnNetwork(m *testing.M) int { return m.Run() }
