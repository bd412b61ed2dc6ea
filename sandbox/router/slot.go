package router

import (
	"context"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// slots is the admission to sandboxes: one slot for each key and kind that
// somebody holds, waits for, or could not clean up. Holders overlap. A clean-up
// that was asked for closes the slot to newcomers, waits for the holders, runs
// once, and opens it again. The table does not grow with keys that are at rest.
type slots struct {
	mu    sync.Mutex
	table map[slotID]*slot
}

type slotID struct {
	key  sandbox.Key
	kind string
}

type slot struct {
	owner *slots
	id    slotID

	// All below is guarded by owner.mu.
	holders int
	waiters int
	// cleanup is what the last holder runs; while it is set nobody enters.
	cleanup func() *sandbox.DisposalFailure
	// changed is closed and replaced whenever a waiter should look again.
	changed chan struct{}
	// failure is what the last clean-up left behind.
	failure *sandbox.DisposalFailure
}

func newSlots() *slots { return &slots{table: make(map[slotID]*slot)} }

// enter takes a place in the slot of id. It waits while a clean-up is pending or
// running, until ctx ends.
func (s *slots) enter(ctx context.Context, id slotID) (*slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sl := s.table[id]
	if sl == nil {
		sl = &slot{owner: s, id: id, changed: make(chan struct{})}
		s.table[id] = sl
	}
	for sl.cleanup != nil {
		changed := sl.changed
		sl.waiters++
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		s.mu.Lock()
		sl.waiters--
		if err := ctx.Err(); err != nil {
			s.forget(sl)
			return nil, context.Cause(ctx)
		}
	}
	sl.holders++
	return sl, nil
}

// leave gives the place back. A clean-up that is passed, or was passed by an
// earlier leaver, runs when the last holder leaves, and leave returns after it.
func (sl *slot) leave(cleanup func() *sandbox.DisposalFailure) {
	s := sl.owner
	s.mu.Lock()
	defer s.mu.Unlock()
	if cleanup != nil {
		sl.cleanup = cleanup
	}
	sl.holders--
	if sl.holders > 0 {
		return
	}
	if run := sl.cleanup; run != nil {
		s.mu.Unlock()
		failure := run()
		s.mu.Lock()
		sl.failure = failure
		sl.cleanup = nil
		close(sl.changed)
		sl.changed = make(chan struct{})
	}
	s.forget(sl)
}

// forget drops a slot that is at rest and has nothing to remember.
func (s *slots) forget(sl *slot) {
	if sl.holders == 0 && sl.waiters == 0 && sl.cleanup == nil && sl.failure == nil && s.table[sl.id] == sl {
		delete(s.table, sl.id)
	}
}

// unclean is the failure that closes the slot's key, or nil.
func (sl *slot) unclean() *sandbox.DisposalFailure {
	sl.owner.mu.Lock()
	defer sl.owner.mu.Unlock()
	return sl.failure
}

// cleaned forgets the failures of every kind of a key that match.
func (s *slots) cleaned(match func(sandbox.Key) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, sl := range s.table {
		if match(id.key) {
			sl.failure = nil
			s.forget(sl)
		}
	}
}
