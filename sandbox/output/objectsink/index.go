package objectsink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// Entry is one output that landed, as the index has it.
type Entry struct {
	// Name is the name it landed under; Object is the key of what holds it.
	Name   string `json:"name"`
	Object string `json:"object"`
	// Landing is the landing that brought it.
	Landing   string `json:"landing"`
	Kind      string `json:"kind"`
	MediaType string `json:"media_type,omitempty"`
	Bytes     int64  `json:"bytes"`
	// SHA256 is of the content, in hexadecimal.
	SHA256 string `json:"sha256"`
}

// index is all that one origin has landed.
type index struct {
	Format  int     `json:"format"`
	Entries []Entry `json:"entries"`

	version string // in the store; "" where there is none yet
}

const (
	indexFormat = 1
	// maxIndex holds 100,000 entries of usual names.
	maxIndex = 64 << 20
)

// readIndex answers an empty index where there is none.
func (s *Sink) readIndex(ctx context.Context, key string) (*index, error) {
	content, version, err := s.store.Read(ctx, key, maxIndex)
	if errors.Is(err, ErrAbsent) {
		return &index{Format: indexFormat}, nil
	}
	if err != nil {
		return nil, failed("reading the index", err)
	}
	read := &index{version: version}
	if err := json.Unmarshal(content, read); err != nil {
		return nil, failed("reading the index", errors.New("it is not JSON of the expected form"))
	}
	if read.Format != indexFormat {
		return nil, failed("reading the index", fmt.Errorf("format %d, and this release writes %d", read.Format, indexFormat))
	}
	return read, nil
}

func (s *Sink) swapIndex(ctx context.Context, key string, i *index) error {
	content, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return s.store.Swap(ctx, key, content, i.version)
}

// has reports whether a landing is in the index.
func (i *index) has(landing string) bool {
	return slices.ContainsFunc(i.Entries, func(e Entry) bool { return e.Landing == landing })
}

// taken finds the entries that stand where names would land: of equal names, and, so
// that outputs can be copied to any file system, of names that would meet there.
func (i *index) taken(names map[string]string) []Entry {
	var taken []Entry
	for _, e := range i.Entries {
		if _, meets := names[guestpath.CollisionKey(e.Name)]; meets {
			taken = append(taken, e)
		}
	}
	return taken
}

// with is the index with a landing in it, and the entries that the landing replaces.
// Only equal names are replaced, and only if they may be.
func (i *index) with(entries []Entry, existing output.Existing) (*index, []Entry, error) {
	names := map[string]string{}
	for _, e := range entries {
		names[guestpath.CollisionKey(e.Name)] = e.Name
	}
	replaced := i.taken(names)
	for _, old := range replaced {
		if existing != output.ExistingReplace || names[guestpath.CollisionKey(old.Name)] != old.Name {
			return nil, nil, exists(old.Name)
		}
	}
	next := &index{Format: indexFormat, version: i.version}
	for _, e := range i.Entries {
		if !slices.Contains(replaced, e) {
			next.Entries = append(next.Entries, e)
		}
	}
	next.Entries = append(next.Entries, entries...)
	return next, replaced, nil
}

const (
	maxSwaps     = 20
	firstRecheck = 10 * time.Millisecond
	lastRecheck  = time.Second
)

var errContended = errors.New("others changed it each time")

// retried runs an attempt to change an object until it is not in conflict with
// somebody else's.
func retried(ctx context.Context, attempt func() error) error {
	pause := firstRecheck
	for range maxSwaps {
		err := attempt()
		if !errors.Is(err, ErrConflict) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
		pause = min(2*pause, lastRecheck)
	}
	return errContended
}
