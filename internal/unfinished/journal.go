package unfinished

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// Creation is one object that a process set out to make.
type Creation struct {
	// Object says which: what is made to be the same has the same text.
	Object string `json:"object"`
	// Mark is of this creation alone. The object carries it, where it can.
	Mark string `json:"mark"`
	// Begun is when the object was not there, by the clock that dates it.
	Begun time.Time `json:"begun"`
	// ID is the object's own once it is made, empty while nobody knows.
	ID string `json:"id,omitempty"`
	// Noted is when it was written down, by this machine's clock.
	Noted time.Time `json:"noted"`
}

// keep is how long what was left counts: whoever takes up the work after that is
// told of the object instead.
const keep = 7 * 24 * time.Hour

// Journal is what the processes that share a folder set out to make. A nil journal
// remembers nothing. It is safe for concurrent use.
type Journal struct {
	dir    string
	parent int
	clock  Clock

	// looking is held while other processes' files are opened, which may take a while,
	// and mu for what is here, which does not. Who holds both took looking first.
	looking sync.Mutex
	mu      sync.Mutex
	own     *bbolt.DB
	// left is what ended processes left, by mark, as it was last looked for.
	left    map[string]leftover
	scanned bool
}

// leftover is a creation and the file that has it.
type leftover struct {
	Creation

	file string
}

// Clock is the time that creations are dated and waited for by.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the context's error before it.
	Sleep(ctx context.Context, d time.Duration) error
}

// New names the folder and touches nothing. parent is the process that started this
// one: files of its other children are never waited for.
func New(dir string, parent int, clock Clock) *Journal {
	return &Journal{dir: dir, parent: parent, clock: clock}
}

var creations = []byte("creations")

// Begin writes down a creation before the service is asked for it.
func (j *Journal) Begin(c Creation) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	c.Noted = j.clock.Now().UTC()
	return j.write(c)
}

// Made adds that the object exists. It stays written down until Close.
func (j *Journal) Made(c Creation, id string) error {
	c.ID = id
	return j.Begin(c)
}

// Drop forgets a creation of this process: nothing was made.
func (j *Journal) Drop(mark string) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.forget(mark)
}

// forget takes a creation out of this process' own file.
func (j *Journal) forget(mark string) error {
	if j.own == nil {
		return nil
	}
	return j.own.Update(func(tx *bbolt.Tx) error { return tx.Bucket(creations).Delete([]byte(mark)) })
}

// write opens this process' own file with the first creation.
func (j *Journal) write(c Creation) error {
	if j.own == nil {
		if err := os.MkdirAll(j.dir, 0o700); err != nil {
			return err
		}
		name := filepath.Join(j.dir, strconv.Itoa(j.parent)+"-"+c.Mark+suffix)
		db, err := bbolt.Open(name, 0o600, &bbolt.Options{Timeout: patience})
		if err != nil {
			return fmt.Errorf("open %s: %w", name, err)
		}
		if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucketIfNotExists(creations); return err }); err != nil {
			return errors.Join(err, db.Close())
		}
		j.own = db
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return j.own.Update(func(tx *bbolt.Tx) error { return tx.Bucket(creations).Put([]byte(c.Mark), text) })
}

// patience bounds the wait for processes that are about to end.
const patience = 10 * time.Second

// Take gives one creation of the object that an ended process left, as this
// process' own from now on: nobody else is given it. With wait it gives processes
// that have not ended a while to do so, since who killed Terraform may start it
// again before its provider has noticed.
func (j *Journal) Take(ctx context.Context, object string, wait bool) (Creation, bool, error) {
	if j == nil {
		return Creation{}, false, nil
	}
	for until := j.clock.Now().Add(patience); ; {
		c, found, busy, err := j.take(object, wait)
		if err != nil || found || !wait || !busy || !j.clock.Now().Before(until) {
			return c, found, err
		}
		if j.clock.Sleep(ctx, 100*time.Millisecond) != nil {
			return Creation{}, false, nil //nolint:nilerr // who asked has gone, and nothing was found
		}
	}
}

func (j *Journal) take(object string, again bool) (c Creation, found, busy bool, err error) {
	j.looking.Lock()
	defer j.looking.Unlock()
	if busy, err = j.look(again); err != nil {
		// One file that cannot be read hides nothing of the others.
		err = fmt.Errorf("look for what ended processes left in %s: %w", j.dir, err)
	}
	for {
		l, left, failed := j.claim(object)
		if !left || failed != nil {
			return Creation{}, false, busy, errors.Join(err, failed)
		}
		there, failed := remove(l)
		if there || failed != nil {
			return l.Creation, there, busy, errors.Join(err, failed)
		}
		// Another process was first.
		j.mu.Lock()
		failed = j.forget(l.Mark)
		j.mu.Unlock()
		if failed != nil {
			return Creation{}, false, busy, errors.Join(err, failed)
		}
	}
}

// claim writes one creation of the object that was left into this process' own file.
// First here, then away there: a kill in between leaves it twice, not lost.
func (j *Journal) claim(object string) (l leftover, found bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for mark, l := range j.left {
		if l.Object == object {
			delete(j.left, mark)
			return l, true, j.write(l.Creation)
		}
	}
	return leftover{}, false, nil
}

// Recorded forgets what ended processes left of an object that a state has.
func (j *Journal) Recorded(id string) error {
	if j == nil {
		return nil
	}
	j.looking.Lock()
	defer j.looking.Unlock()
	_, err := j.look(false)
	var known []leftover
	j.mu.Lock()
	for mark, l := range j.left {
		if l.ID == id || l.Object == id {
			delete(j.left, mark)
			known = append(known, l)
		}
	}
	j.mu.Unlock()
	for _, l := range known {
		_, failed := remove(l)
		err = errors.Join(err, failed)
	}
	return err
}

// Close ends the process' part. What was made is forgotten, since Terraform has it by
// then; what may or may not have been made stays for the next process.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.own == nil {
		return nil
	}
	name, open := j.own.Path(), 0
	err := j.own.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(creations)
		var made [][]byte
		err := b.ForEach(func(mark, text []byte) error {
			var c Creation
			if json.Unmarshal(text, &c) == nil && c.ID == "" {
				open++
				return nil
			}
			made = append(made, mark)
			return nil
		})
		for _, mark := range made {
			err = errors.Join(err, b.Delete(mark))
		}
		return err
	})
	err = errors.Join(err, j.own.Close())
	j.own = nil
	if err == nil && open == 0 {
		err = os.Remove(name)
	}
	return err
}
