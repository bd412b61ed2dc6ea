package backend

import (
	"context"
	"sync"
)

// keyedLocks has one lock for every name that somebody holds or waits for, and
// forgets it with the last of them. What is held carries an [identity], so that
// disposal finds what is just being made.
type keyedLocks struct {
	mu   sync.Mutex
	held map[string]*keyedLock
}

type keyedLock struct {
	slot chan struct{}
	refs int
	who  identity
}

// lock waits for the name's turn or for the end of ctx.
func (l *keyedLocks) lock(ctx context.Context, name string, who identity) (unlock func(), err error) {
	l.mu.Lock()
	entry := l.held[name]
	if entry == nil {
		entry = &keyedLock{slot: make(chan struct{}, 1), who: who}
		if l.held == nil {
			l.held = map[string]*keyedLock{}
		}
		l.held[name] = entry
	}
	if entry.who == (identity{}) {
		entry.who = who // disposal may have come first, knowing the name only
	}
	entry.refs++
	l.mu.Unlock()

	select {
	case entry.slot <- struct{}{}:
		return func() {
			<-entry.slot
			l.release(name, entry)
		}, nil
	case <-ctx.Done():
		l.release(name, entry)
		return nil, context.Cause(ctx)
	}
}

func (l *keyedLocks) release(name string, entry *keyedLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry.refs--
	if entry.refs == 0 {
		delete(l.held, name)
	}
}

// matching lists the names in use whose identity is one that is asked for.
func (l *keyedLocks) matching(match func(identity) bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name, entry := range l.held {
		if match(entry.who) {
			names = append(names, name)
		}
	}
	return names
}
