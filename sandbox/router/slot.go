package router

import (
	"context"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// slots is the admission to sandboxes: one slot for each key, kind and backend
// that somebody holds, waits for, or could not clean up. Holders overlap. A clean-up
// that was asked for closes the slot to newcomers, waits for the holders, runs
// once, and opens it again. The table does not grow with keys that are at rest.
type slots struct {
	mu    sync.Mutex
	table map[slotID]*slot
}

// slotID is what one sandbox is told apart by. The backend belongs to it: two
// workloads of one kind on two backends have two sandboxes to clean up.
type slotID struct {
	key     sandbox.Key
	kind    string
	backend string
}

type slot struct {
	owner *slots
	id    slotID

	// All below is guarded by owner.mu.
	holders int
	waiters int
	// cleanups are what the last holder runs, by instance; while there are any
	// nobody enters. There is more than one after a sandbox was disposed under its
	// holders, and one of them got another.
	cleanups map[string]cleanup
	// changed is closed and replaced whenever a waiter should look again.
	changed chan struct{}
	// failure is what the last clean-up left behind.
	failure *sandbox.DisposalFailure
}

// cleanup removes one instance.
type cleanup func() *sandbox.DisposalFailure

func newSlots() *slots { return &slots{table: make(map[slotID]*slot)} }

// enter takes a place in the slot of id. It waits while a clean-up is pending or
// running, until ctx ends.
func (s *slots) enter(ctx context.Context, id slotID) (*slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sl := s.table[id]
	if sl == nil {
		sl = &slot{owner: s, id: id, changed: make(chan struct{}), cleanups: map[string]cleanup{}}
		s.table[id] = sl
	}
	for len(sl.cleanups) > 0 {
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
// earlier leaver, runs when the last holder leaves; leave returns after it, with
// its failure. Who leaves others behind is told nothing: the last one is.
func (sl *slot) leave(instance string, run cleanup) (failure *sandbox.DisposalFailure) {
	s := sl.owner
	s.mu.Lock()
	defer s.mu.Unlock()
	if run != nil {
		sl.cleanups[instance] = run
	}
	sl.holders--
	if sl.holders > 0 {
		return nil
	}
	if len(sl.cleanups) > 0 {
		sl.clean()
		failure = sl.failure
	}
	s.forget(sl)
	return failure
}

// clean runs the clean-ups without the lock and opens the slot again, also when
// the backend panics: then the key is closed as after a failure.
func (sl *slot) clean() {
	s := sl.owner
	failures := []*sandbox.DisposalFailure{{Code: sandbox.DisposalUnknown, Detail: "the backend panicked"}}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		sl.failure = sandbox.FoldDisposalFailures(failures...)
		clear(sl.cleanups)
		close(sl.changed)
		sl.changed = make(chan struct{})
	}()
	var done []*sandbox.DisposalFailure
	for _, run := range sl.cleanups { // nobody enters or leaves meanwhile
		done = append(done, run())
	}
	failures = done
}

// forget drops a slot that is at rest and has nothing to remember.
func (s *slots) forget(sl *slot) {
	if sl.holders == 0 && sl.waiters == 0 && len(sl.cleanups) == 0 && sl.failure == nil && s.table[sl.id] == sl {
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
