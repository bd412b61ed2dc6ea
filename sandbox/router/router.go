package router

import (
	"context"
	"slices"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Router serves the workloads of one manifest. Make one with [Open]. It is safe
// for concurrent use.
type Router struct {
	owner    string
	manifest manifest.Manifest
	digest   manifest.Digest
	policy   *policy.CompiledPolicy
	backends map[string]*registered
	names    []string // of backends, sorted: the order in which all are asked
	observer Observer
	slots    *slots

	mu     sync.Mutex
	closed bool
	open   sync.WaitGroup // leases and disposals in flight
}

// registered is a backend with its declarations as they were at Open.
type registered struct {
	Backend
	declared sandbox.Declarations
	compiled *policy.CompiledDeclarations
}

// Open reads a manifest and gets ready to serve it. In order: the options must
// be complete; the bytes' digest must be one that is accepted, before they are
// parsed; the document must be strict; every backend's declarations must be
// sound and still give what the manifest relied on. A manifest that names a group is
// only opened with a backend that the host configured for it. Nothing is created.
//
// Errors are [sandbox.Refusals] that list everything found at the first step
// that fails.
func Open(ctx context.Context, opts Options) (*Router, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := refuse(opts.findings()); err != nil {
		return nil, err
	}
	digest := manifest.DigestOf(opts.Manifest)
	if !slices.Contains(opts.Accept, digest) {
		return nil, refuse([]sandbox.Finding{{
			Code: sandbox.CodeDigestMismatch, Path: sandbox.Path("options", "manifest"),
			Found: string(digest), Required: acceptable(opts.Accept),
			Remedy: "roll the accepted digest out with the manifest; never compute it from the manifest that is opened",
		}})
	}
	m, err := manifest.Parse(opts.Manifest)
	if err != nil {
		return nil, err
	}
	backends, findings := choose(m, opts.Backends)
	if err := refuse(append(findings, named(backends)...)); err != nil {
		return nil, err
	}
	layers := m.Layers()
	if opts.Floor != sandbox.IsolationUnspecified {
		layers = append([]policy.Layer{hostLayer(opts.Floor)}, layers...)
	}
	compiled, findings := policy.CompilePolicy(layers...)
	if err := refuse(findings); err != nil {
		return nil, err
	}
	r := &Router{
		owner: opts.Owner, manifest: m, digest: digest, policy: compiled,
		backends: make(map[string]*registered, len(backends)),
		observer: opts.Observer, slots: newSlots(),
	}
	findings = nil
	for _, b := range backends {
		findings = append(findings, r.register(b)...)
	}
	slices.Sort(r.names)
	if err := refuse(findings); err != nil {
		return nil, err
	}
	return r, nil
}

// hostLayer is the host's own floor as one more policy in force.
func hostLayer(floor sandbox.Isolation) policy.Layer {
	return policy.Layer{Source: "the host", Policy: sandbox.Policy{MinimumIsolation: floor}}
}

func acceptable(accept []manifest.Digest) string {
	text := "one of the accepted digests:"
	for _, d := range accept {
		text += " " + string(d)
	}
	return text
}

func (r *Router) register(b Backend) []sandbox.Finding {
	d := b.Declarations()
	compiled, findings := policy.CompileDeclarations(d)
	if d.Backend != b.Name() {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeBackendNotPermitted, Subject: "backend " + sandbox.Echo(b.Name()),
			Path: sandbox.Path("backend"), Found: "declarations of " + sandbox.Echo(d.Backend),
			Required: "declarations under its own name", Remedy: "fix the backend",
		})
	}
	findings = append(findings, policy.ReliedOn(r.manifest.Layers(), r.manifest.Guarantees, d)...)
	r.backends[b.Name()] = &registered{Backend: b, declared: d, compiled: compiled.Beside(r.declarations)}
	r.names = append(r.names, b.Name())
	return findings
}

// declarations are those of every registered backend, for remedies that name one.
func (r *Router) declarations() []sandbox.Declarations {
	all := make([]sandbox.Declarations, 0, len(r.names))
	for _, name := range r.names {
		all = append(all, r.backends[name].declared)
	}
	return all
}

// refuse makes one error of all findings that deny.
func refuse(findings []sandbox.Finding) error {
	var refusals sandbox.Refusals
	for _, f := range findings {
		if f.Verdict != sandbox.Allow {
			refusals = append(refusals, f.Refusal(nil))
		}
	}
	if len(refusals) == 0 {
		return nil
	}
	return refusals
}

// Manifest returns what the router serves.
func (r *Router) Manifest() manifest.Manifest { return r.manifest }

// Digest is the accepted digest of the manifest in force.
func (r *Router) Digest() manifest.Digest { return r.digest }

// enter notes one thing in flight, so that Close can wait for it. It fails once
// the router is closed.
func (r *Router) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return sandbox.Finding{
			Code: sandbox.CodeRouterClosed, Found: "a closed router", Required: "an open one",
			Remedy: "stop handing out work before closing the router",
		}.Refusal(nil)
	}
	r.open.Add(1)
	return nil
}

// Close stops serving and waits for leases and calls in flight, until ctx ends.
// It removes no sandbox that a host still holds by a key: those are disposed by
// [Router.Dispose] and [Router.DisposeScope], and at the end of each call.
// Backends belong to whoever made them.
func (r *Router) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		r.open.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
