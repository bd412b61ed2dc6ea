package objectsink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// delivery is one landing.
type delivery struct {
	sink     *Sink
	scope    string
	keys     keys
	landing  string
	detached context.Context //nolint:containedctx // for the clean-up, which outlives the caller's

	index    *index // as it was read first
	reserved output.Usage
	until    time.Time // when the reservation ends, and with it the landing

	staged    []stagedObject
	sum       output.Usage
	names     map[string]bool // collision keys of what is staged
	landed    bool
	uncertain bool // whether the index has it could not be found out
}

type stagedObject struct {
	Staged
	entry     Entry
	attempted bool // its commit was begun
}

var _ output.Planner = (*delivery)(nil)

// Plan looks at the index and reserves the room, before the first byte is read.
func (d *delivery) Plan(ctx context.Context, artifacts []output.Artifact) error {
	entries := make([]Entry, len(artifacts))
	var asked output.Usage
	for i, a := range artifacts {
		if err := guestpath.ValidateArtifactName(a.Name); err != nil {
			return err
		}
		entries[i] = Entry{Name: a.Name, Bytes: a.Size}
		asked = asked.Add(output.Usage{Bytes: a.Size, Files: 1})
	}
	return d.admit(ctx, entries, asked)
}

// admit judges names against the index, and reserves.
func (d *delivery) admit(ctx context.Context, entries []Entry, asked output.Usage) error {
	if d.index == nil {
		read, err := d.sink.readIndex(ctx, d.keys.index())
		if err != nil {
			return err
		}
		d.index = read
	}
	_, replaced, err := d.index.with(entries, d.sink.options.Existing)
	if err != nil {
		return err
	}
	if asked.Bytes <= d.reserved.Bytes && asked.Files <= d.reserved.Files {
		return nil
	}
	return d.reserve(ctx, asked, replaced)
}

// Stage sends one artifact to the store, where it does not stand yet.
func (d *delivery) Stage(ctx context.Context, a output.Artifact, content io.Reader) (output.Landed, error) {
	if err := guestpath.ValidateArtifactName(a.Name); err != nil {
		return output.Landed{}, err
	}
	key := guestpath.CollisionKey(a.Name)
	if d.names[key] {
		return output.Landed{}, exists(a.Name)
	}
	next := d.sum.Add(output.Usage{Bytes: a.Size, Files: 1})
	if err := d.admit(ctx, []Entry{{Name: a.Name, Bytes: a.Size}}, next); err != nil {
		return output.Landed{}, err
	}
	hash := sha256.New()
	counted := &counter{r: io.TeeReader(content, hash), left: a.Size}
	object := d.keys.object(d.landing, objectName(len(d.staged), a.Name))
	staged, err := d.sink.store.Stage(ctx, object, counted, a.Size, a.MediaType)
	if err == nil {
		err = counted.whole()
	}
	if staged != nil {
		d.staged = append(d.staged, stagedObject{Staged: staged, entry: Entry{
			Name: a.Name, Object: object, Landing: d.landing, Kind: a.Kind, MediaType: a.MediaType,
			Bytes: a.Size, SHA256: hex.EncodeToString(hash.Sum(nil)),
		}})
	}
	if err != nil {
		return output.Landed{}, failed("staging "+sandbox.Echo(a.Name), err)
	}
	d.sum = next
	if d.names == nil {
		d.names = map[string]bool{}
	}
	d.names[key] = true
	return output.Landed{
		Name: a.Name, Size: a.Size, Display: d.sink.options.Display(a), Handle: d.sink.store.Locate(object),
	}, nil
}

// objectName is a key's last part: a number that makes it unlike all others of the
// landing, and what is plain of the name, for people who list the store.
func objectName(number int, name string) string {
	const most = 80
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, name)
	if len(plain) > most {
		plain = plain[len(plain)-most:] // with its extension
	}
	// A key's segment that ends in a dot is one some services cut.
	return fmt.Sprintf("%06d-%s", number, strings.TrimRight(plain, ".")+"_")
}

// counter reads to the end of content and no further than one byte past its size.
type counter struct {
	r     io.Reader
	left  int64
	ended bool
}

var errLonger = errors.New("more bytes than were said")

func (c *counter) Read(p []byte) (int, error) {
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return n, errLonger
	}
	c.ended = c.ended || err == io.EOF
	return n, err
}

// whole reads the end, for stores that stop at the size, and judges the length.
func (c *counter) whole() error {
	if !c.ended {
		if n, err := io.Copy(io.Discard, c); n > 0 || err != nil {
			return errors.Join(err, fmt.Errorf("%d bytes not taken", n))
		}
	}
	if c.left > 0 {
		return fmt.Errorf("%d bytes less than were said", c.left)
	}
	return nil
}

// Abort discards what was staged and removes what stands without being in the index.
// After a commit it only lets go of the reservation, which ends by itself if it cannot.
func (d *delivery) Abort() error {
	ctx, cancel := context.WithTimeout(d.detached, cleanupTime)
	defer cancel()
	var problems error
	if !d.landed && !d.uncertain {
		for _, s := range d.staged {
			if err := s.Discard(ctx); err != nil {
				problems = errors.Join(problems, failed("discarding what was staged", err))
			}
			if !s.attempted {
				continue
			}
			if err := d.sink.store.Delete(ctx, s.entry.Object); err != nil {
				problems = errors.Join(problems, failed("removing what was staged", err))
			}
		}
	}
	d.staged = nil
	if err := d.release(ctx); !d.landed {
		problems = errors.Join(problems, err)
	}
	return problems
}
