package sandboxtest

import (
	"context"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// Declarations are what a backend over the engine may say of itself: everything
// the engine can do, egress closed, and a rung that stands for the test itself.
// They suit tests of routers and hosts; a test of a floor sets its own rung.
func Declarations(e *Engine) sandbox.Declarations {
	can := sandbox.SetOf(sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut,
		sandbox.CapabilityFilesList, sandbox.CapabilityFilesDelete)
	if e.authority() != sandbox.WriteAuthorityRoot {
		can = can.With(sandbox.CapabilityReclaim)
	}
	if e.options.Exec != nil {
		can = can.With(sandbox.CapabilityExec)
	}
	if e.options.RunCode != nil {
		can = can.With(sandbox.CapabilityRunCode)
	}
	return sandbox.Declarations{
		Backend:           "memory",
		Isolation:         sandbox.IsolationMicroVM,
		IsolationEvidence: sandbox.Evidence{Kind: sandbox.EvidenceProbed, Reference: "sandboxtest, in memory"},
		Capabilities:      &can,
		EgressModes:       sandbox.SetOf(sandbox.EgressClosed),
		ImageSources:      sandbox.SetOf(sandbox.ImageSources()...),
		OSFamilies:        sandbox.SetOf(sandbox.OSFamilyPOSIX),
		IsolationScopes:   sandbox.SetOf(sandbox.ScopeConversation, sandbox.ScopeCall),
		WriteAuthority:    e.authority(),
	}
}

// authority is what the layer above may declare of an engine's first way to ask
// for files.
func (e *Engine) authority() sandbox.WriteAuthority {
	access := e.options.Access[0]
	switch {
	case access.As != sandbox.PrincipalRoot:
		return sandbox.WriteAuthorityGuest
	case access.Links == engine.Beneath, e.options.Freeze:
		return sandbox.WriteAuthorityRootConfined
	}
	return sandbox.WriteAuthorityRoot
}

// closeBound is how long a call may still be in flight when its test has ended.
const closeBound = 10 * time.Second

var _ router.Backend = (*backend.Backend)(nil)

// Backend makes a backend over the engine with [Declarations], and closes it when
// the test ends.
func Backend(tb testing.TB, e *Engine, options ...backend.Option) *backend.Backend {
	tb.Helper()
	b, err := backend.New(e, Declarations(e), options...)
	if err != nil {
		tb.Fatalf("making a backend in memory: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeBound)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			tb.Errorf("closing the backend in memory: %v", err)
		}
	})
	return b
}
