package backend

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// parallelDisposals is how many sandboxes are removed at once.
const parallelDisposals = 8

// Dispose removes what the request names and answers nil when nothing of it may
// remain; what is not there counts as removed. Sandboxes of other processes are
// found by their labels. One that is just being acquired is waited for and then
// removed.
func (b *Backend) Dispose(ctx context.Context, req sandbox.DisposeRequest) *sandbox.DisposalFailure {
	leave, err := b.calls.enter()
	if err != nil {
		return disposalFailure(ctx, "disposing on a closed backend", err)
	}
	defer leave()
	if err := checkOwner(req.Owner); err != nil {
		return disposalFailure(ctx, "disposing for nobody", err)
	}
	match := func(who identity) bool {
		return who.owner == req.Owner && who.key == req.Key && (req.Kind == "" || who.kind == req.Kind)
	}
	labels := b.labeler(req.Owner).keyLabels(identity{owner: req.Owner, key: req.Key, kind: req.Kind})
	_, failure := b.dispose(ctx, labels, match, req.InstanceID)
	return failure
}

// DisposeScope removes every sandbox of the owner's scope, or of one thread of it
// when thread is not empty, whoever made them.
func (b *Backend) DisposeScope(ctx context.Context, owner, scope, thread string) sandbox.ScopeDisposal {
	leave, err := b.calls.enter()
	if err != nil {
		return sandbox.ScopeDisposal{Undisposed: disposalFailure(ctx, "disposing on a closed backend", err)}
	}
	defer leave()
	if err := checkOwner(owner); err != nil {
		return sandbox.ScopeDisposal{Undisposed: disposalFailure(ctx, "disposing for nobody", err)}
	}
	match := func(who identity) bool {
		return who.owner == owner && who.key.Scope == scope && (thread == "" || who.key.Thread == thread)
	}
	n, failure := b.dispose(ctx, b.labeler(owner).scopeLabels(owner, scope, thread), match, "")
	return sandbox.ScopeDisposal{Disposed: n, Undisposed: failure}
}

// dispose removes what carries the labels and what this process knows to match,
// only the instance of that id if one is given. It counts what was removed.
func (b *Backend) dispose(ctx context.Context, labels map[string]string, match func(identity) bool, only string) (int, *sandbox.DisposalFailure) {
	// What is being made now is asked for first: the list may miss it.
	targets := map[string][]string{}
	for _, name := range b.locks.matching(match) {
		targets[name] = nil
	}
	for _, inst := range b.instances.matching(match) {
		targets[inst.name] = append(targets[inst.name], inst.id)
	}
	var failures []*sandbox.DisposalFailure
	listed, err := b.list(ctx, labels)
	if err != nil {
		failure := disposalFailure(ctx, "listing what there is", err)
		if failure.Code != sandbox.DisposalTimeout {
			failure.Code = sandbox.DisposalUnlisted
		}
		failures = append(failures, failure)
	}
	for _, found := range listed {
		targets[found.Name] = append(targets[found.Name], found.ID)
	}

	var mu sync.Mutex
	removed := 0
	var group errgroup.Group
	group.SetLimit(parallelDisposals)
	for name, ids := range targets {
		group.Go(func() error {
			n, failure := b.disposeName(ctx, name, ids, match, only)
			mu.Lock()
			defer mu.Unlock()
			removed += n
			failures = append(failures, failure)
			return nil
		})
	}
	_ = group.Wait() // failures are collected, not returned
	return removed, sandbox.FoldDisposalFailures(failures...)
}

// list asks the engine and keeps only what really carries the labels: a sandbox of
// somebody else must not fall to an engine's mistake.
func (b *Backend) list(ctx context.Context, labels map[string]string) ([]engine.Listed, error) {
	listed, err := b.engine.List(ctx, labels)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(listed, func(l engine.Listed) bool {
		for label, value := range labels {
			if l.Labels[label] != value {
				return true
			}
		}
		return false
	}), nil
}

// disposeName removes the sandboxes of one name, those that were found and those
// that this process knows by the time it is their turn.
func (b *Backend) disposeName(ctx context.Context, name string, ids []string, match func(identity) bool, only string) (removed int, failure *sandbox.DisposalFailure) {
	unlock, err := b.locks.lock(ctx, name, identity{})
	if err != nil {
		return 0, disposalFailure(ctx, "waiting for a sandbox's turn", err)
	}
	defer unlock()
	for _, inst := range b.instances.matching(match) {
		if inst.name == name {
			ids = append(ids, inst.id)
		}
	}
	slices.Sort(ids)
	var failures []*sandbox.DisposalFailure
	for _, id := range slices.Compact(ids) {
		if only != "" && id != only {
			continue
		}
		if err := b.engine.Delete(ctx, id); err != nil {
			failures = append(failures, disposalFailure(ctx, "removing sandbox "+strconv.Quote(id), err))
			continue
		}
		b.instances.forget(id)
		removed++
	}
	return removed, sandbox.FoldDisposalFailures(failures...)
}
