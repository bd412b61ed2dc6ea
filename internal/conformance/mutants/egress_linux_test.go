package mutants_test

import (
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
)

// newWorld is an internet for one subject.
func newWorld(t *testing.T) *conformance.Egress {
	t.Helper()
	e, err := conformance.NewEgress()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.World.Close)
	return e
}

// inWorld gives a configuration that internet.
func inWorld(t *testing.T, c *process.Config) *conformance.Egress {
	t.Helper()
	e := newWorld(t)
	c.Egress = process.EgressConfig{Resolver: e.World, RootsPEM: e.World.RootPEM(), Connect: e.World.Connect, Observer: e.Observed.Of}
	return e
}

// withEgress is a process backend in a world of its own.
func withEgress(t *testing.T, c process.Config, wrapGuest func(e *process.Engine) *wraps) conformance.Subject {
	t.Helper()
	e := inWorld(t, &c)
	subject := overProcess(t, c, wrapGuest)
	subject.Egress = e
	// The host's name is in that of the directory of its sockets, wherever that is.
	e.EndProxy = conformance.EndSockets("sandbox-egress-"+strings.TrimPrefix(mark(t, c), "sandbox-host-"), c.StateDir)
	return subject
}
