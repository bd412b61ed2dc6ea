package unfinished

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
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
	dir, keys string
	parent    int
	now       func() time.Time

	mu  sync.Mutex
	own *page
	// left is what ended processes left, by mark, as it was last looked for.
	left    map[string]leftover
	scanned bool
}

// leftover is a creation and the file that has it.
type leftover struct {
	Creation

	file string
}

// New names the folder and touches nothing. keys is a folder outside of what others
// write to, where the user's key lies or is made; without one nothing is written down
// and nothing taken. parent is the process that started this one: files of its other
// children are never waited for.
func New(dir, keys string, parent int, now func() time.Time) *Journal {
	return &Journal{dir: dir, keys: keys, parent: parent, now: now}
}

// signer signs for this folder, by the name that it goes by from here: a link in the
// working directory does not make another one's lines count.
func (j *Journal) signer(create bool) (signer, error) {
	place := j.dir
	if !filepath.IsAbs(place) {
		wd, err := os.Getwd()
		if err != nil {
			return signer{}, err
		}
		if wd, err = filepath.EvalSymlinks(wd); err != nil {
			return signer{}, err
		}
		place = filepath.Join(wd, place)
	}
	key, err := readKey(j.keys, create)
	return signer{key: key, place: place}, err
}

// Begin writes down a creation before the service is asked for it.
func (j *Journal) Begin(c Creation) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	c.Noted = j.now().UTC()
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
	if j.own == nil {
		return nil
	}
	_, err := j.own.forget(mark)
	return err
}

// write opens this process' own file with the first creation.
func (j *Journal) write(c Creation) error {
	if j.own == nil {
		by, err := j.signer(true)
		if err != nil {
			return err
		}
		if err := privateDir(j.dir); err != nil {
			return err
		}
		if j.own, err = newPage(filepath.Join(j.dir, strconv.Itoa(j.parent)+"-"+rand.Text()+suffix), by); err != nil {
			return err
		}
	}
	return j.own.add(record{Creation: c})
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
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		c, found, busy, err := j.take(object, wait)
		if err != nil || found || !wait || !busy {
			return c, found, err
		}
		select {
		case <-ctx.Done():
			return Creation{}, false, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (j *Journal) take(object string, again bool) (c Creation, found, busy bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.scanned || again {
		if busy, err = j.scan(); err != nil {
			return Creation{}, false, false, err
		}
	}
	for mark, l := range j.left {
		if l.Object != object {
			continue
		}
		delete(j.left, mark)
		// First here, then away there: a kill in between leaves it twice, not lost.
		if err := j.write(l.Creation); err != nil {
			return Creation{}, false, busy, err
		}
		if there, err := j.forgetIn(l); there || err != nil {
			return l.Creation, there, busy, err
		}
		// Another process was first.
		if _, err := j.own.forget(mark); err != nil {
			return Creation{}, false, busy, err
		}
	}
	return Creation{}, false, busy, nil
}

// Recorded forgets what ended processes left of an object that a state has.
func (j *Journal) Recorded(id string) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.scanned {
		if _, err := j.scan(); err != nil {
			return err
		}
	}
	for mark, l := range j.left {
		if l.ID == id || l.Object == id {
			delete(j.left, mark)
			if _, err := j.forgetIn(l); err != nil {
				return err
			}
		}
	}
	return nil
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
	var err error
	for mark, c := range j.own.open {
		if c.ID != "" {
			_, forgot := j.own.forget(mark)
			err = errors.Join(err, forgot)
		}
	}
	err = errors.Join(err, j.own.close())
	j.own = nil
	return err
}
