package unfinished

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/filelock"
)

// maxPage bounds a file: some ten thousand objects that one process makes.
const maxPage = 8 << 20

var (
	errLocked   = errors.New("its process has not ended")
	errTooLarge = fmt.Errorf("larger than %d bytes", maxPage)
)

// page is an open and locked file of one process: a line of JSON for each thing that
// happened, added at the end and on the disk before anything else is done.
type page struct {
	f    *os.File
	by   signer
	size int64
	// torn says that the last line was cut off, by a kill or a full disk.
	torn bool
	// open are the creations that are not forgotten, by mark.
	open map[string]Creation
	// ours says that at least one line was of this user's.
	ours bool
}

// line is one line of a page: what it says, and that this user said it.
type line struct {
	Record json.RawMessage `json:"record"`
	MAC    []byte          `json:"mac"`
}

// record is that a creation was begun or made, or with Gone that it is forgotten.
type record struct {
	Creation

	Gone bool `json:"gone,omitempty"`
}

// newPage makes a file of this process.
func newPage(name string, by signer) (*page, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND|openFlags, 0o600)
	if err != nil {
		return nil, err
	}
	// Nobody else looks into an empty file.
	if held, err := filelock.Try(f); !held || err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s", name), err, f.Close())
	}
	return &page{f: f, by: by, open: map[string]Creation{}, ours: true}, nil
}

// openPage opens what an ended process left. patience is how long it is waited for.
func openPage(name string, by signer, now time.Time, patience time.Duration) (*page, error) {
	f, err := openPrivate(name, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	p := &page{f: f, by: by, open: map[string]Creation{}}
	if err = p.lock(patience); err == nil {
		err = p.read(now)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

func (p *page) lock(patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; {
		held, err := filelock.Try(p.f)
		if held || err != nil {
			return err
		}
		if !time.Now().Before(deadline) {
			return errLocked
		}
		<-time.After(10 * time.Millisecond) // a system tells nobody that a lock has ended
	}
}

// read takes what is signed and counts, and passes over everything else.
func (p *page) read(now time.Time) error {
	text, err := io.ReadAll(io.LimitReader(p.f, maxPage+1))
	if err != nil {
		return err
	}
	if len(text) > maxPage {
		return errTooLarge
	}
	p.size, p.torn = int64(len(text)), len(text) > 0 && text[len(text)-1] != '\n'
	for text := range bytes.Lines(text) {
		var l line
		var r record
		if json.Unmarshal(text, &l) != nil || !hmac.Equal(l.MAC, p.by.sign(l.Record)) || json.Unmarshal(l.Record, &r) != nil {
			continue
		}
		p.ours = true
		if delete(p.open, r.Mark); !r.Gone && r.counts(now) {
			p.open[r.Mark] = r.Creation
		}
	}
	return nil
}

// skew is how far two clocks may be apart.
const skew = 5 * time.Minute

// counts reports that it is what [Journal.Begin] writes, and neither old nor of a time
// that has not come.
func (c Creation) counts(now time.Time) bool {
	latest := now.Add(skew)
	return isMark(c.Mark) && c.Noted.After(now.Add(-keep)) && !c.Noted.After(latest) && !c.Begun.After(latest)
}

// isMark reports the form of [rand.Text].
func isMark(text string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	return len(text) == 26 && strings.Trim(text, letters) == ""
}

// add writes a record at the end.
func (p *page) add(r record) error {
	said, err := json.Marshal(r)
	if err != nil {
		return err
	}
	text, err := json.Marshal(line{Record: said, MAC: p.by.sign(said)})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if p.torn {
		text = append([]byte{'\n'}, text...)
	}
	if p.size+int64(len(text)) > maxPage {
		return fmt.Errorf("%s: %w", p.f.Name(), errTooLarge)
	}
	n, err := p.f.Write(text)
	p.size += int64(n)
	p.torn = n > 0 && n < len(text) || n == 0 && p.torn
	if err = errors.Join(err, p.f.Sync()); err != nil {
		return err
	}
	if delete(p.open, r.Mark); !r.Gone {
		p.open[r.Mark] = r.Creation
	}
	return nil
}

// forget writes down that a creation is nobody's affair any more. there is false where
// it was not open.
func (p *page) forget(mark string) (there bool, err error) {
	c, there := p.open[mark]
	if !there {
		return false, nil
	}
	return true, p.add(record{Creation: c, Gone: true})
}

// close closes the file, and removes one of ours that has nothing more to say.
func (p *page) close() error {
	name, done := p.f.Name(), p.ours && len(p.open) == 0
	if err := p.f.Close(); err != nil || !done {
		return err
	}
	return removed(name)
}
