package router

import (
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Observer is told what a router did. Events are values of this package's event
// types; they hold no file content, no output and no environment.
type Observer interface {
	Observe(event any)
}

// AttachDecided is sent when a workload was judged at attach.
type AttachDecided struct {
	Workload string
	Backend  string
	Decision sandbox.Decision
}

// SandboxAcquired is sent after each acquire, successful or not.
type SandboxAcquired struct {
	Workload   string
	Key        sandbox.Key
	Backend    string
	InstanceID string
	Origin     sandbox.Origin
	// Manifest is the digest under which it was admitted.
	Manifest manifest.Digest
	Duration time.Duration
	// Refusal is the code of what went wrong, empty on success.
	Refusal sandbox.Code
	// Findings are warnings about the sandbox that refused nothing, each told once:
	// that its programs run as another user than the one that owns its files, or in
	// root's group.
	Findings []sandbox.Finding
}

// SandboxDisposed is sent after each attempt to dispose the sandbox of a call.
type SandboxDisposed struct {
	Workload   string
	Key        sandbox.Key
	Backend    string
	InstanceID string
	// Failure is nil when nothing may remain.
	Failure *sandbox.DisposalFailure
}

// observe hands an event on. An observer that panics loses its event, not the
// call it was told about.
func (r *Router) observe(event any) {
	if r.observer == nil {
		return
	}
	defer func() { _ = recover() }()
	r.observer.Observe(event)
}
