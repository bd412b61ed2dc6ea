package conformance

import (
	"crypto/rand"
	"os"
)

// canaryVariable stands in this process' own environment, so that a guest that
// inherits it shows it.
const canaryVariable = "SANDBOX_CONFORMANCE_CANARY"

// leaveCanary sets the variable once and leaves it: another run in this process
// may be looking for it.
func leaveCanary() {
	if os.Getenv(canaryVariable) == "" {
		_ = os.Setenv(canaryVariable, rand.Text()) // fails only for a name with an equals sign
	}
}
