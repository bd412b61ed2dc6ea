package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// Options say where the state is.
type Options struct {
	// Path is the file; it and its directory are made when they are needed.
	Path string
	// Wait bounds how long a transaction waits for other processes. Zero is ten
	// seconds.
	Wait time.Duration
}

// Store is a file of documents. It holds nothing open between transactions and is
// safe for concurrent use.
type Store struct {
	path string
	wait time.Duration

	// door admits one at a time to opening the file or joining who has it open.
	door chan struct{}
	// whole is that the file was all there when it was opened first.
	whole bool
	mu    sync.Mutex
	open  *session

	// turn is held by the one that commits; waiting are changes of the others.
	turn    chan struct{}
	waiting []*change
}

// ErrBusy is that other processes held the file for longer than the bound.
var ErrBusy = errors.New("the state file is in use by another process")

// ErrDamaged is that the file is none of this package's, or is broken.
var ErrDamaged = errors.New("the state file cannot be read")

// ErrUnusable is that the file, or what has to lie beside it, cannot be opened or made.
var ErrUnusable = errors.New("the state file cannot be opened")

// Check opens the file for writing, and makes it where it is not there.
func (s *Store) Check(ctx context.Context) error {
	return s.within(ctx, func(*bbolt.DB) error { return nil })
}

// New names the file and touches nothing.
func New(o Options) (*Store, error) {
	if o.Path == "" {
		return nil, errors.New("a store needs the path of its file")
	}
	if o.Wait == 0 {
		o.Wait = 10 * time.Second
	}
	return &Store{path: o.Path, wait: o.Wait, door: make(chan struct{}, 1), turn: make(chan struct{}, 1)}, nil
}

// View shows f one state of the file. Nothing changes under f, and f changes
// nothing.
func (s *Store) View(ctx context.Context, f func(*Tx) error) error {
	return s.within(ctx, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error { return f(&Tx{tx: tx, store: s}) })
	})
}

// change is one caller's part of a commit.
type change struct {
	do   func(*Tx) error
	done chan struct{}
	err  error
}

// Update lets f change the file. Either all that f did is on the disk when Update
// returns nil, or nothing is. f may run more than once, and may not wait for
// anything.
func (s *Store) Update(ctx context.Context, f func(*Tx) error) error {
	mine := &change{do: f, done: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, mine)
	s.mu.Unlock()
	select {
	case <-mine.done: // somebody committed it along with their own
		return mine.err
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		if s.withdraw(mine) {
			return ctx.Err()
		}
		<-mine.done
		return mine.err
	}
	if all := s.take(); len(all) > 0 {
		s.commit(ctx, all)
	}
	<-mine.done
	return mine.err
}

func (s *Store) take() []*change {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting
	s.waiting = nil
	return all
}

func (s *Store) withdraw(c *change) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.waiting {
		if w == c {
			s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// commit makes all the changes in one transaction. One that fails after it wrote
// takes the transaction with it; the others are then made without it. What is
// committed for others is not given up with the context of one.
func (s *Store) commit(ctx context.Context, all []*change) {
	ctx = context.WithoutCancel(ctx)
	defer func() {
		for _, c := range all {
			close(c.done)
		}
	}()
	for left := all; len(left) > 0; {
		var spoilt *change
		err := s.within(ctx, func(db *bbolt.DB) error {
			return db.Update(func(tx *bbolt.Tx) error {
				for _, c := range left {
					t := &Tx{tx: tx, store: s}
					if c.err = c.do(t); c.err != nil && t.wrote {
						spoilt = c
						return c.err
					}
				}
				return nil
			})
		})
		if spoilt != nil {
			left = without(left, spoilt)
			continue
		}
		for _, c := range left {
			if c.err == nil {
				c.err = err
			}
		}
		return
	}
}

func without(all []*change, c *change) []*change {
	rest := make([]*change, 0, len(all))
	for _, a := range all {
		if a != c {
			rest = append(rest, a)
		}
	}
	return rest
}

// within runs f on the open file.
func (s *Store) within(ctx context.Context, f func(*bbolt.DB) error) (err error) {
	// A page that a file lost while it was open is a panic too, then, and no end of the
	// process.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	open, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer func() {
		// The library panics over pages that are not what its checksums promise.
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, broken)
		}
		if left := s.leave(open); left != nil && err == nil {
			err = fmt.Errorf("letting go of the state file: %w", left)
		}
	}()
	return f(open.db)
}
