package router

import (
	"context"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Backend is what the router calls. Packages under sandbox/backend satisfy it.
type Backend interface {
	// Name is the name by which a workload asks for it.
	Name() string
	// Declarations are read once, at [Open].
	Declarations() sandbox.Declarations
	// Acquire gets or creates the sandbox of owner, key and kind. On an error
	// nothing is left of what it made.
	Acquire(ctx context.Context, req sandbox.AcquireRequest) (sandbox.Acquired, error)
	// Dispose removes sandboxes; nil means that none may remain.
	Dispose(ctx context.Context, req sandbox.DisposeRequest) *sandbox.DisposalFailure
	// DisposeScope removes all of an owner's sandboxes of a scope, or of one
	// thread of it when thread is not empty.
	DisposeScope(ctx context.Context, owner, scope, thread string) sandbox.ScopeDisposal
}

// Options say what a router trusts and serves. Manifest, Accept, Owner and
// Backends are required.
type Options struct {
	// Manifest is the document as the provider wrote it, byte for byte.
	Manifest []byte
	// Accept are the digests that the host's own configuration pins; several
	// only during a rollout. They never come from the place the manifest is
	// read from.
	Accept []manifest.Digest
	// Owner separates this application's sandboxes from everybody else's on the
	// same engine: it is part of every sandbox's identity. 1 to 128 bytes.
	Owner string
	// Backends are those that the host offers, each under its own name. Several of
	// one name are [Placed] in different places, of which the manifest's group names
	// one.
	Backends []Backend
	// Floor is the host's own isolation floor; it can only raise the manifest's.
	Floor sandbox.Isolation
	// Observer, when set, is told what happened. It must not block for long; it
	// is called from several goroutines.
	Observer Observer
}

const maxOwner = 128

func (o *Options) findings() []sandbox.Finding {
	var findings []sandbox.Finding
	bad := func(field, found, required, remedy string) {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("options", field),
			Found: found, Required: required, Remedy: remedy,
		})
	}
	if o.Owner == "" || len(o.Owner) > maxOwner {
		bad("owner", sandbox.Echo(o.Owner), "1 to 128 bytes that name this application", "set Options.Owner")
	}
	if len(o.Accept) == 0 {
		bad("accept", "no digest", "the digests that this host's configuration accepts",
			"pin the digest that terraform output printed")
	}
	for i, d := range o.Accept {
		if _, err := manifest.ParseDigest(string(d)); err != nil {
			findings = append(findings, sandbox.FindingsAt(err, sandbox.Path("options", "accept", i))...)
		}
	}
	if len(o.Backends) == 0 {
		bad("backends", "none", "at least one backend", "register the backend that the workloads name")
	}
	for i, b := range o.Backends {
		if b == nil {
			findings = append(findings, sandbox.Finding{
				Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("options", "backends", i),
				Found: "nil", Required: "a backend", Remedy: "check the error of the backend's New",
			})
		}
	}
	return findings
}
