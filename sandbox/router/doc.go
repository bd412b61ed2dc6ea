// Package router serves sandboxes at run time under exactly the policy that was
// decided at plan time. It opens a manifest whose digest the host accepts,
// attaches workloads by name, and hands out sandboxes; there is no way to one
// that skips the decision.
//
// A host does this:
//
//	r, err := router.Open(ctx, router.Options{Manifest: bytes, Accept: accepted, Owner: "reports-api", Backends: backends})
//	a, err := r.Attach(ctx, "report")
//	err = a.Call(ctx, key, func(ctx context.Context, s *sandbox.Session) error { … })
//
// Read [Open], [Attachment.Call] and [Attachment.Acquire]. The router never
// imports a backend: it states what it calls in [Backend]. It never falls back
// to another backend, never weakens a mode, and never repeats a create.
package router
