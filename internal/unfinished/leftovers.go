package unfinished

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const suffix = ".creations"

// scan reads the files whose process has ended. busy reports others that are waited
// for: of processes that this one's parent did not start.
func (j *Journal) scan() (busy bool, err error) {
	entries, err := os.ReadDir(j.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	j.left, j.scanned = map[string]leftover{}, true
	for _, e := range entries {
		file := filepath.Join(j.dir, e.Name())
		if !strings.HasSuffix(e.Name(), suffix) || (j.own != nil && file == j.own.Path()) {
			continue
		}
		if info, err := e.Info(); err != nil || info.Size() == 0 {
			continue // being made, or gone
		}
		switch err := j.load(file); {
		case errors.Is(err, berrors.ErrTimeout):
			busy = busy || !strings.HasPrefix(e.Name(), strconv.Itoa(j.parent)+"-")
		case err != nil:
			// Its process was killed while it made the file: nothing was begun.
			_ = os.Remove(file)
		}
	}
	return busy, nil
}

// load reads a file and removes one that has nothing which still counts.
func (j *Journal) load(file string) error {
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{Timeout: time.Millisecond})
	if err != nil {
		return err
	}
	old, count := j.now().Add(-keep), 0
	err = db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(creations)
		if b == nil {
			return nil
		}
		return b.ForEach(func(_, text []byte) error {
			var c Creation
			if json.Unmarshal(text, &c) == nil && c.Noted.After(old) {
				j.left[c.Mark], count = leftover{c, file}, count+1
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
