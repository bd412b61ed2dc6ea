package backend

import (
	"context"
	"errors"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// freezeGate keeps a guest frozen while at least one call needs it to be: the
// first one freezes, the last one thaws.
type freezeGate struct {
	mu     sync.Mutex
	users  int
	thaw   func(context.Context) error
	change chan struct{} // closed when a freeze or thaw under way ends
}

// enter answers once the guest is frozen. leave must be called exactly once.
func (g *freezeGate) enter(ctx context.Context, f engine.Freezer) (leave func(context.Context) error, err error) {
	for {
		g.mu.Lock()
		switch {
		case g.change != nil:
			change := g.change
			g.mu.Unlock()
			select {
			case <-change:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		case g.users > 0:
			g.users++
			g.mu.Unlock()
			return g.leave, nil
		}
		change := make(chan struct{})
		g.change = change
		g.mu.Unlock()

		thaw, err := f.Freeze(ctx)
		if err == nil && thaw == nil {
			err = errors.New("the engine froze a guest and gave no way to thaw it")
		}
		g.mu.Lock()
		g.change = nil
		if err == nil {
			g.users, g.thaw = 1, thaw
		}
		g.mu.Unlock()
		close(change)
		if err != nil {
			return nil, err
		}
		return g.leave, nil
	}
}

func (g *freezeGate) leave(ctx context.Context) error {
	g.mu.Lock()
	g.users--
	if g.users > 0 {
		g.mu.Unlock()
		return nil
	}
	thaw, change := g.thaw, make(chan struct{})
	g.thaw, g.change = nil, change
	g.mu.Unlock()

	err := thaw(ctx)
	g.mu.Lock()
	g.change = nil
	g.mu.Unlock()
	close(change)
	return err
}
