package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	// holdBound is how long transactions of this process may go on joining one
	// another while others wait for the file.
	holdBound = 100 * time.Millisecond
	// tryAgain is how often the file is asked for, and how long it is left alone
	// after holdBound.
	tryAgain = 4 * time.Millisecond
)

// session is the file, open, for the transactions that overlap in this process:
// one process cannot open it twice.
type session struct {
	db    *bbolt.DB
	since time.Time
	users int
	gone  chan struct{}
}

// enter opens the file, or joins those who have it open.
func (s *Store) enter(ctx context.Context) (*session, error) {
	select {
	case s.door <- struct{}{}:
		defer func() { <-s.door }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if joined, old := s.join(); joined != nil {
		return joined, nil
	} else if old != nil {
		select {
		case <-old.gone:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err := pause(ctx, tryAgain); err != nil {
			return nil, err
		}
	}
	db, err := s.openFile(ctx)
	if err != nil {
		return nil, err
	}
	open := &session{db: db, since: time.Now(), users: 1, gone: make(chan struct{})}
	s.mu.Lock()
	s.open = open
	s.mu.Unlock()
	return open, nil
}

// join adds a user to the open file, unless it has been open for long.
func (s *Store) join() (joined, old *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open == nil:
		return nil, nil
	case time.Since(s.open.since) > holdBound:
		return nil, s.open
	}
	s.open.users++
	return s.open, nil
}

// leave closes the file behind its last user.
func (s *Store) leave(open *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open.users--; open.users > 0 {
		return nil
	}
	s.open = nil
	close(open.gone)
	return open.db.Close()
}

func (s *Store) openFile(ctx context.Context) (*bbolt.DB, error) {
	started := time.Now()
	for {
		db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{Timeout: time.Nanosecond, FreelistType: bbolt.FreelistMapType})
		switch {
		case err == nil:
			return db, nil
		case errors.Is(err, fs.ErrNotExist):
			if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
				return nil, fmt.Errorf("making the directory of the state file: %w", err)
			}
			if time.Since(started) < s.wait {
				continue
			}
			return nil, fmt.Errorf("opening the state file: %w", err)
		case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
			return nil, fmt.Errorf("%w: %w; it was written by another program, or cut short", ErrDamaged, err)
		case !errors.Is(err, berrors.ErrTimeout):
			return nil, fmt.Errorf("opening the state file: %w", err)
		case time.Since(started) >= s.wait:
			return nil, fmt.Errorf("%w: it was not let go within %s", ErrBusy, s.wait)
		}
		if err := pause(ctx, tryAgain); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
