package unfinished

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const suffix = ".creations"

// look reads the files whose process has ended, once or again. busy reports others that
// are waited for: of processes that this one's parent did not start. err is of files
// that could not be read, whatever became of the others. The caller holds looking.
func (j *Journal) look(again bool) (busy bool, err error) {
	j.mu.Lock()
	own, scanned := "", j.scanned
	if j.own != nil {
		own = j.own.Path()
	}
	j.mu.Unlock()
	if scanned && !again {
		return false, nil
	}
	entries, err := os.ReadDir(j.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	err = nil
	left, old := map[string]leftover{}, j.clock.Now().Add(-keep)
	for _, e := range entries {
		file := filepath.Join(j.dir, e.Name())
		if !strings.HasSuffix(e.Name(), suffix) || file == own {
			continue
		}
		info, gone := e.Info()
		if gone != nil || info.Size() == 0 {
			continue // being made, or gone
		}
		switch failed := load(file, old, left); {
		case failed == nil, errors.Is(failed, fs.ErrNotExist):
		case errors.Is(failed, berrors.ErrTimeout):
			busy = busy || !strings.HasPrefix(e.Name(), strconv.Itoa(j.parent)+"-")
		case broken(failed, info.Size()):
			// Its process was killed while it made the file: nothing was begun.
			err = errors.Join(err, os.Remove(file))
		default:
			err = errors.Join(err, fmt.Errorf("read %s: %w", file, failed))
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.left, j.scanned = left, true
	return busy, err
}

// broken reports a file that no process has and that holds nothing. One that this
// process may not open, or has no room to, may be anybody's.
func broken(err error, size int64) bool {
	_, path := errors.AsType[*fs.PathError](err)
	_, number := errors.AsType[syscall.Errno](err)
	if path || number {
		return false
	}
	short := size < 2*int64(os.Getpagesize()) // bbolt has no name for this one
	return short || errors.Is(err, berrors.ErrInvalid) || errors.Is(err, berrors.ErrChecksum) || errors.Is(err, berrors.ErrVersionMismatch)
}

// load reads a file, and removes one that has nothing which is younger than old.
func load(file string, old time.Time, left map[string]leftover) error {
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{Timeout: time.Millisecond})
	if err != nil {
		return err
	}
	count := 0
	err = db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(creations)
		if b == nil {
			return nil
		}
		return b.ForEach(func(_, text []byte) error {
			var c Creation
			if json.Unmarshal(text, &c) == nil && c.Noted.After(old) {
				left[c.Mark], count = leftover{c, file}, count+1
			}
			return nil
		})
	})
	if err = errors.Join(err, db.Close()); err == nil && count == 0 {
		return os.Remove(file)
	}
	return err
}

// remove takes a creation out of the file that had it, and the file away with the
// last. there is false where somebody else did so before.
func remove(l leftover) (there bool, err error) {
	if _, err := os.Stat(l.file); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	db, err := bbolt.Open(l.file, 0o600, &bbolt.Options{Timeout: patience})
	if err != nil {
		return false, err
	}
	last := false
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(creations)
		if b == nil {
			return nil
		}
		there = b.Get([]byte(l.Mark)) != nil
		if err := b.Delete([]byte(l.Mark)); err != nil {
			return err
		}
		first, _ := b.Cursor().First()
		last = first == nil
		return nil
	})
	if err = errors.Join(err, db.Close()); err == nil && last {
		err = os.Remove(l.file)
	}
	return there, err
}
