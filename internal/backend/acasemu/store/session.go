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
		db, err := s.openWhole()
		switch {
		case err == nil:
			return db, nil
		case errors.Is(err, fs.ErrNotExist):
			if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
				return nil, fmt.Errorf("%w: making its directory: %w", ErrUnusable, err)
			}
			if time.Since(started) < s.wait {
				continue
			}
			return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
		case errors.Is(err, ErrDamaged):
			return nil, err
		case !errors.Is(err, berrors.ErrTimeout):
			return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
		case time.Since(started) >= s.wait:
			return nil, fmt.Errorf("%w: it was not let go within %s", ErrBusy, s.wait)
		}
		if err := pause(ctx, tryAgain); err != nil {
			return nil, err
		}
	}
}

// openWhole opens the file once it is known to be all there. The library reads it as
// memory, and memory that a file no longer has ends the process.
func (s *Store) openWhole() (*bbolt.DB, error) {
	if !s.whole {
		if err := s.checkWhole(); err != nil {
			return nil, err
		}
		s.whole = true
	}
	return bbolt.Open(s.path, 0o600, &bbolt.Options{Timeout: time.Nanosecond, FreelistType: bbolt.FreelistMapType})
}

// checkWhole opens a file to read how long it says it is. One that is not there, or
// has nothing in it yet, is whole.
func (s *Store) checkWhole() (err error) {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	var opened *os.File
	defer func() {
		if broken := recover(); broken != nil {
			opened.Close() // and with it the hold on the file
			err = fmt.Errorf("%w: %v", ErrDamaged, broken)
		}
	}()
	db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{
		Timeout: time.Nanosecond, ReadOnly: true, PreLoadFreelist: true,
		OpenFile: func(name string, flag int, mode fs.FileMode) (*os.File, error) {
			var err error
			opened, err = os.OpenFile(name, flag, mode)
			return opened, err
		},
	})
	if _, ofFile := errors.AsType[*fs.PathError](err); err != nil && !ofFile && !errors.Is(err, berrors.ErrTimeout) {
		return fmt.Errorf("%w: %w; it was written by another program, or cut short", ErrDamaged, err)
	}
	if err != nil {
		return err
	}
	err = db.View(func(tx *bbolt.Tx) error {
		info, err := os.Stat(s.path)
		if err == nil && info.Size() < tx.Size() {
			err = fmt.Errorf("%w: it was cut short: %d bytes are left of %d", ErrDamaged, info.Size(), tx.Size())
		}
		return err
	})
	return errors.Join(err, db.Close())
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
