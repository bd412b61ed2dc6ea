package acasemu

import (
	"context"
	"sync"
)

// busy counts what is under way in each sandbox: one with a command in it is not
// idle.
type busy struct {
	mu     sync.Mutex
	counts map[string]int
}

func (b *busy) enter(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counts == nil {
		b.counts = map[string]int{}
	}
	b.counts[id]++
}

func (b *busy) leave(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counts[id]--; b.counts[id] <= 0 {
		delete(b.counts, id)
	}
}

func (b *busy) has(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts[id] > 0
}

// gates let one at a time suspend, resume or end the guest of a sandbox.
type gates struct {
	mu   sync.Mutex
	open map[string]*gate
}

type gate struct {
	turn  chan struct{}
	users int
}

// within runs f alone among those of the same id.
func (g *gates) within(ctx context.Context, id string, f func() error) error {
	g.mu.Lock()
	if g.open == nil {
		g.open = map[string]*gate{}
	}
	one := g.open[id]
	if one == nil {
		one = &gate{turn: make(chan struct{}, 1)}
		g.open[id] = one
	}
	one.users++
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(g.open, id)
		}
	}()
	select {
	case one.turn <- struct{}{}:
		defer func() { <-one.turn }()
		return f()
	case <-ctx.Done():
		return ctx.Err()
	}
}
