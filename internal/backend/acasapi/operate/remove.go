package operate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Outcome is how far a removal came. The zero value is that nothing was asked.
type Outcome uint8

const (
	// NotBegun: the service was not asked to delete it.
	NotBegun Outcome = iota
	// Asked: it may have been deleted, and was not seen gone.
	Asked
	// Refused: the service did not delete it.
	Refused
	// Gone: it was seen gone, whoever deleted it.
	Gone
)

// Removal is a sandbox and what became of it.
type Removal struct {
	Candidate

	Outcome Outcome
	// Err is why it is not gone; nil where nothing was asked.
	Err error
}

const (
	// parallel is how many sandboxes are removed at once.
	parallel = 8
	// glance bounds the last look at a group after the caller went away.
	glance = 5 * time.Second
)

// removing is one run of [Remove].
type removing struct {
	group *acasapi.Group
	wait  acasapi.Wait
	tell  func(Removal)

	mu   sync.Mutex
	all  []Removal
	next int
	// barred says that the service will not let anybody delete here.
	barred bool
}

// Remove deletes sandboxes, several at once, and waits until each is seen gone, each
// for at most limit (zero is five minutes). tell, where it is not nil, hears of each
// as it ends, one at a time.
//
// The removals are all of the sandboxes that were given, in their order, whatever
// happened: one that fails does not stop the others, unless the service forbids
// deleting. The error is the end of ctx, or that the group itself cannot be seen any
// more: then nobody knows what became of its sandboxes and none is Gone.
func Remove(ctx context.Context, g *acasapi.Group, old []Candidate, limit time.Duration, tell func(Removal)) ([]Removal, error) {
	r := &removing{group: g, wait: acasapi.Wait{Limit: limit}, tell: tell, all: make([]Removal, len(old))}
	for i, c := range old {
		r.all[i].Candidate = c
	}
	var workers sync.WaitGroup
	for range min(parallel, len(old)) {
		workers.Go(func() {
			for i, ok := r.take(ctx); ok; i, ok = r.take(ctx) {
				r.put(i, r.remove(ctx, old[i]))
			}
		})
	}
	workers.Wait()
	return r.all, errors.Join(context.Cause(ctx), r.verify(ctx))
}

// take gives the next sandbox to remove, if there is one and one may go on.
func (r *removing) take(ctx context.Context) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil || r.barred || r.next == len(r.all) {
		return 0, false
	}
	r.next++
	return r.next - 1, true
}

func (r *removing) put(i int, done Removal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[i] = done
	r.barred = r.barred || errors.Is(done.Err, sandbox.ErrPermission)
	if r.tell != nil {
		r.tell(done)
	}
}

func (r *removing) remove(ctx context.Context, c Candidate) Removal {
	s, err := r.group.Sandbox(c.ID)
	if err == nil {
		err = s.Delete(ctx, r.wait)
	}
	done := Removal{Candidate: c, Outcome: Refused, Err: err}
	switch {
	case err == nil:
		done.Outcome = Gone
	case ctx.Err() != nil, errors.Is(err, sandbox.ErrTimeout), errors.Is(err, sandbox.CodeServiceUnreachable),
		errors.Is(err, sandbox.CodeServiceUnavailable), errors.Is(err, sandbox.CodeServiceAnswerInvalid):
		done.Outcome = Asked // or it was asked and nothing was heard of it
	}
	return done
}

// verify looks at the group once more: "not found" is also what a group that is gone,
// or is no longer ours to see, says of every sandbox.
func (r *removing) verify(ctx context.Context) error {
	gone := map[string]int{}
	for i, one := range r.all {
		if one.Outcome == Gone {
			gone[one.ID] = i
		}
	}
	if len(gone) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), glance)
		defer cancel()
	}
	for doc, err := range r.group.Sandboxes(ctx, nil) {
		if err != nil {
			for _, i := range gone {
				r.all[i].Outcome = Asked
			}
			return unseen(r.group, err)
		}
		// One that is being deleted may be listed for a while.
		if i, listed := gone[doc.ID]; listed && !wire.SameState(doc.State, wire.StateDeleting) {
			r.all[i].Outcome, r.all[i].Err = Asked, stillListed(doc)
		}
	}
	return nil
}

func stillListed(doc wire.Sandbox) error {
	return &sandbox.Refusal{Finding: sandbox.Finding{
		Code: sandbox.CodeServiceOutcomeUnknown, Subject: "sandbox " + sandbox.Echo(doc.ID),
		Found: "not found when it was asked for, and listed as " + sandbox.Echo(doc.State) + " afterwards", Required: "gone",
		Remedy: "run it again",
	}}
}

func unseen(g *acasapi.Group, err error) error {
	r := &sandbox.Refusal{Finding: sandbox.Finding{
		Code: sandbox.CodeServiceOutcomeUnknown, Subject: "sandbox group " + sandbox.Echo(g.ID().Name),
		Found: "it could not be listed after its sandboxes answered that they do not exist", Required: "a group that answers",
		Remedy: "look whether somebody deleted the group; if it is there, run it again",
	}, Err: err}
	if under := sandbox.RefusalOf(err); under != nil && under.Code == sandbox.CodeServiceNotFound {
		r.Found = "the service knows no such group any more"
	}
	return r
}
