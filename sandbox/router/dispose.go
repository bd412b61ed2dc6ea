package router

import (
	"context"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Dispose removes every sandbox of a key. It asks every registered backend,
// whichever served, and one that fails does not stop the others. A nil error
// means that nothing may remain, and opens the key again after a clean-up that
// had failed; otherwise the error is a [*sandbox.DisposalFailure].
func (r *Router) Dispose(ctx context.Context, key sandbox.Key) error {
	if err := key.Validate(); err != nil {
		return err
	}
	if err := r.enter(); err != nil {
		return err
	}
	defer r.open.Done()
	var failures []*sandbox.DisposalFailure
	for _, name := range r.names {
		failure := r.backends[name].Dispose(ctx, sandbox.DisposeRequest{Owner: r.owner, Key: key})
		failures = append(failures, byName(name, failure))
	}
	if failure := sandbox.FoldDisposalFailures(failures...); failure != nil {
		return failure
	}
	r.slots.cleaned(func(k sandbox.Key) bool { return k == key })
	return nil
}

// DisposeScope removes every sandbox of a scope, or of one thread of it when
// thread is not empty, this owner's only. It asks every registered backend and
// sums what they answer. The error is the outcome's Undisposed, if any.
func (r *Router) DisposeScope(ctx context.Context, scope, thread string) (sandbox.ScopeDisposal, error) {
	if scope == "" {
		return sandbox.ScopeDisposal{}, sandbox.Finding{
			Code: sandbox.CodeKeyInvalid, Path: sandbox.Path("scope"), Found: "an empty scope",
			Required: "the scope to dispose", Remedy: "pass the tenant's or user's scope",
		}.Refusal(nil)
	}
	if err := r.enter(); err != nil {
		return sandbox.ScopeDisposal{}, err
	}
	defer r.open.Done()
	var total sandbox.ScopeDisposal
	var failures []*sandbox.DisposalFailure
	for _, name := range r.names {
		one := r.backends[name].DisposeScope(ctx, r.owner, scope, thread)
		total.Disposed += one.Disposed
		failures = append(failures, byName(name, one.Undisposed))
	}
	total.Undisposed = sandbox.FoldDisposalFailures(failures...)
	if total.Undisposed != nil {
		return total, total.Undisposed
	}
	r.slots.cleaned(func(k sandbox.Key) bool {
		return k.Scope == scope && (thread == "" || k.Thread == thread)
	})
	return total, nil
}

// byName prefixes a failure with the backend that reported it.
func byName(backend string, failure *sandbox.DisposalFailure) *sandbox.DisposalFailure {
	if failure == nil {
		return nil
	}
	return &sandbox.DisposalFailure{Code: failure.Code, Detail: backend + ": " + failure.Detail, Err: failure}
}
