package objectsink_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output/objectsink"
)

// memory is a store that keeps its objects, checks its callers, and fails when it is
// told to: before it did what was asked, or after.
type memory struct {
	t *testing.T

	mu       sync.Mutex
	objects  map[string]object
	versions int
	calls    []string
	staged   int // objects sent and neither committed nor discarded
	fail     func(call int, what string) failure
	clock    time.Time
}

type object struct {
	content  []byte
	version  string
	modified time.Time
}

type failure int

const (
	works failure = iota
	failsBefore
	failsAfter
	losesAnswer // did it, was asked again by a retry, and says what it found then
)

var (
	errDown  = errors.New("the store is down")
	plainKey = regexp.MustCompile(`^[a-z0-9._/-]{1,400}$`)
)

func newMemory(t *testing.T) *memory {
	t.Helper()
	return &memory{t: t, objects: map[string]object{}, clock: time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)}
}

func (m *memory) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clock
}

func (m *memory) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock = m.clock.Add(d)
}

// do takes down a call, and has it happen or fail.
func (m *memory) do(ctx context.Context, what, key string, act func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !plainKey.MatchString(key) && what != "list" {
		m.t.Errorf("%s of the key %q", what, key)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.calls = append(m.calls, what+" "+key)
	mode := works
	if m.fail != nil {
		mode = m.fail(len(m.calls), what)
	}
	switch mode {
	case failsBefore:
		return errDown
	case failsAfter:
		return errors.Join(act(), errDown)
	case losesAnswer:
		if err := act(); err != nil {
			return err
		}
		return act()
	}
	return act()
}

func (m *memory) put(key string, content []byte) {
	m.versions++
	m.objects[key] = object{content: content, version: fmt.Sprint("v", m.versions), modified: m.clock}
}

type sent struct {
	m       *memory
	key     string
	content []byte
}

func (m *memory) Stage(ctx context.Context, key string, content io.Reader, size int64, _ string) (objectsink.Staged, error) {
	got, err := io.ReadAll(io.LimitReader(content, size))
	if err != nil {
		return nil, err
	}
	if int64(len(got)) != size {
		return nil, io.ErrUnexpectedEOF
	}
	s := &sent{m: m, key: key, content: got}
	return s, m.do(ctx, "stage", key, func() error { m.staged++; return nil })
}

func (s *sent) Commit(ctx context.Context) error {
	return s.m.do(ctx, "commit", s.key, func() error {
		if there, taken := s.m.objects[s.key]; taken {
			if bytes.Equal(there.content, s.content) {
				return nil
			}
			return objectsink.ErrConflict
		}
		s.m.put(s.key, s.content)
		return nil
	})
}

func (s *sent) Discard(ctx context.Context) error {
	return s.m.do(ctx, "discard", s.key, func() error { return nil })
}

func (m *memory) Read(ctx context.Context, key string, most int64) (content []byte, version string, err error) {
	err = m.do(ctx, "read", key, func() error {
		o, there := m.objects[key]
		switch {
		case !there:
			return objectsink.ErrAbsent
		case int64(len(o.content)) > most:
			return errors.New("too long")
		}
		content, version = o.content, o.version
		return nil
	})
	return content, version, err
}

func (m *memory) Swap(ctx context.Context, key string, content []byte, version string) error {
	return m.do(ctx, "swap", key, func() error {
		if m.objects[key].version != version {
			return objectsink.ErrConflict
		}
		m.put(key, bytes.Clone(content))
		return nil
	})
}

func (m *memory) List(ctx context.Context, prefix string, each func(objectsink.Object) error) error {
	return m.do(ctx, "list", prefix, func() error {
		for _, key := range slices.Sorted(maps.Keys(m.objects)) {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			o := m.objects[key]
			if err := each(objectsink.Object{Key: key, Size: int64(len(o.content)), Modified: o.modified}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *memory) Delete(ctx context.Context, key string) error {
	return m.do(ctx, "delete", key, func() error { delete(m.objects, key); return nil })
}

func (m *memory) Locate(key string) string { return "memory:" + key }

// data lists the objects that are neither an index nor a ledger.
func (m *memory) data() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for key := range m.objects {
		if !strings.HasSuffix(key, "/index.json") && !strings.HasSuffix(key, "/ledger.json") {
			keys = append(keys, key)
		}
	}
	return keys
}

func (m *memory) reserved() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, o := range m.objects {
		if strings.HasSuffix(key, "/ledger.json") {
			return string(o.content)
		}
	}
	return ""
}
