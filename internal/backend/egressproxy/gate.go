package egressproxy

import "context"

// gate admits so many at once of one sandbox, and so many of all sandboxes
// together. A few of each sandbox's are its own and need no room among the others,
// so that whatever the others do, it is never shut out.
type gate struct {
	all    chan struct{} // of the sandbox
	own    chan struct{} // of these, the ones that are not counted in the pool
	shared chan struct{} // of the pool
}

// ownShare is which part of a sandbox's limit is its own.
const ownShare = 8

func newGate(most int, shared chan struct{}) gate {
	return gate{all: make(chan struct{}, most), own: make(chan struct{}, max(most/ownShare, 1)), shared: shared}
}

// ticket is one admission. The zero value holds nothing.
type ticket struct{ all, counted chan struct{} }

// enter waits for room until ctx ends.
func (g *gate) enter(ctx context.Context) (ticket, error) {
	select {
	case g.all <- struct{}{}:
	case <-ctx.Done():
		return ticket{}, context.Cause(ctx)
	}
	select {
	case g.own <- struct{}{}:
		return ticket{g.all, g.own}, nil
	default:
	}
	select {
	case g.own <- struct{}{}:
		return ticket{g.all, g.own}, nil
	case g.shared <- struct{}{}:
		return ticket{g.all, g.shared}, nil
	case <-ctx.Done():
		<-g.all
		return ticket{}, context.Cause(ctx)
	}
}

// try enters where there is room at once.
func (g *gate) try() (ticket, bool) {
	select {
	case g.all <- struct{}{}:
	default:
		return ticket{}, false
	}
	select {
	case g.own <- struct{}{}:
		return ticket{g.all, g.own}, true
	default:
	}
	select {
	case g.shared <- struct{}{}:
		return ticket{g.all, g.shared}, true
	default:
		<-g.all
		return ticket{}, false
	}
}

// leave gives the room back.
func (t ticket) leave() {
	if t.all != nil {
		<-t.counted
		<-t.all
	}
}
