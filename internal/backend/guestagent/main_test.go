package guestagent_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// probeVariable makes the test's own executable a program for the guest.
const probeVariable = "GUEST_PROBE"

func TestMain(m *testing.M) {
	if name := os.Getenv(probeVariable); name != "" {
		os.Exit(runProbe(name))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		removeExecutables()
		os.Exit(code)
	}))
}
