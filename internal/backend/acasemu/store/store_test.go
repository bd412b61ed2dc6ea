package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type thing struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

const things store.Kind = "things"

func open(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.New(store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fresh(t *testing.T) (*store.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deep", "state.db")
	return open(t, path), path
}

func put(t *testing.T, s *store.Store, key store.Key, v thing) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx *store.Tx) error { return store.Put(tx, things, key, v) }); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s *store.Store, key store.Key) (v thing, ok bool) {
	t.Helper()
	if err := s.View(t.Context(), func(tx *store.Tx) (err error) { v, ok, err = store.Get[thing](tx, things, key); return err }); err != nil {
		t.Fatal(err)
	}
	return v, ok
}

func TestWhatWasPutIsThereForOthers(t *testing.T) {
	t.Parallel()
	s, path := fresh(t)
	put(t, s, store.Key{"a", "b"}, thing{"x", 1})
	if v, ok := get(t, open(t, path), store.Key{"a", "b"}); !ok || v.N != 1 {
		t.Errorf("another sees %+v, %v", v, ok)
	}
	if _, ok := get(t, s, store.Key{"a"}); ok {
		t.Error("what lies above a document is one")
	}
}

func TestBelowAKeyIsWhatBeginsWithAllOfIt(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	for _, key := range []store.Key{{"a", "1"}, {"a", "2"}, {"ab", "3"}} {
		put(t, s, key, thing{Name: key[1]})
	}
	var names []string
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		names = nil
		for v, err := range store.Each[thing](tx, things, store.Key{"a"}) {
			if err != nil {
				return err
			}
			names = append(names, v.Name)
		}
		if n := tx.Count(things, nil); n != 3 {
			t.Errorf("%d in all", n)
		}
		return tx.DeleteBelow(things, store.Key{"a"})
	})
	if err != nil || len(names) != 2 {
		t.Errorf("below are %q, %v", names, err)
	}
	if _, ok := get(t, s, store.Key{"ab", "3"}); !ok {
		t.Error("a neighbour went along")
	}
}

func TestAChangeThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	no := errors.New("no")
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			err := s.Update(t.Context(), func(tx *store.Tx) error {
				if err := store.Put(tx, things, store.Key{strconv.Itoa(i)}, thing{N: i}); err != nil {
					return err
				}
				if i%2 == 1 {
					return no
				}
				return nil
			})
			if (i%2 == 1) != errors.Is(err, no) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	all.Wait()
	for i := range 40 {
		if _, ok := get(t, s, store.Key{strconv.Itoa(i)}); ok != (i%2 == 0) {
			t.Errorf("%d is there: %v", i, ok)
		}
	}
}

func TestProcessesShareOneFile(t *testing.T) {
	t.Parallel()
	_, path := fresh(t)
	var all sync.WaitGroup
	for range 4 { // each opens the file for itself, as a process does
		s := open(t, path)
		for range 3 {
			all.Go(func() {
				for range 20 {
					err := s.Update(t.Context(), func(tx *store.Tx) error {
						v, _, err := store.Get[thing](tx, things, store.Key{"sum"})
						if err != nil {
							return err
						}
						v.N++
						return store.Put(tx, things, store.Key{"sum"}, v)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	if v, _ := get(t, open(t, path), store.Key{"sum"}); v.N != 240 {
		t.Errorf("%d of 240 changes were kept", v.N)
	}
}

func TestAFileThatOthersHoldIsWaitedForAndThenToldOf(t *testing.T) {
	t.Parallel()
	_, path := fresh(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.New(store.Options{Path: path, Wait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(*store.Tx) error { return nil }
	if err := s.View(t.Context(), nothing); !errors.Is(err, store.ErrBusy) {
		t.Errorf("a view of a held file: %v", err)
	}
	if err := s.Update(t.Context(), nothing); !errors.Is(err, store.ErrBusy) {
		t.Errorf("a change of a held file: %v", err)
	}
	patient := open(t, path)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := patient.View(ended, nothing); !errors.Is(err, context.Canceled) {
		t.Errorf("a view that was given up: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- patient.View(t.Context(), nothing) }()
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("a view of a file that was let go: %v", err)
	}
}

func TestAFileOfAnotherProgramIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	text := bytes.Repeat([]byte("somebody's notes\n"), 1000)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Update(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, text) {
		t.Error("it was written to")
	}
}

func TestWhatIsSealedIsNotInTheFileAndNeedsItsKey(t *testing.T) {
	t.Parallel()
	s, path := fresh(t)
	type kept struct {
		Sealed store.Sealed `json:"sealed"`
	}
	const sentinel = "sentinel-3f9a"
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		sealed, err := tx.Seal("secret", thing{Name: sentinel})
		if err != nil {
			return err
		}
		return store.Put(tx, things, store.Key{"k"}, kept{sealed})
	})
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(path); err != nil || bytes.Contains(raw, []byte(sentinel)) {
		t.Errorf("the file tells the secret (%v)", err)
	}
	unseal := func(purpose string) (v thing, err error) {
		err = open(t, path).View(t.Context(), func(tx *store.Tx) error {
			k, _, err := store.Get[kept](tx, things, store.Key{"k"})
			if err != nil {
				return err
			}
			return tx.Unseal(purpose, k.Sealed, &v)
		})
		return v, err
	}
	if v, err := unseal("secret"); err != nil || v.Name != sentinel {
		t.Errorf("unsealed %+v, %v", v, err)
	}
	if _, err := unseal("policy"); !errors.Is(err, store.ErrWrongKey) {
		t.Errorf("a secret passes for a policy: %v", err)
	}
	if info, err := os.Stat(path + ".key"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode is %v, %v", info.Mode(), err)
	}
	if err := os.Remove(path + ".key"); err != nil {
		t.Fatal(err)
	}
	if _, err := unseal("secret"); !errors.Is(err, store.ErrKeyGone) {
		t.Errorf("without its key: %v", err)
	}
	if err := os.WriteFile(path+".key", []byte(strings.Repeat("0", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := unseal("secret"); !errors.Is(err, store.ErrWrongKey) {
		t.Errorf("with another key: %v", err)
	}
}

// A file that was cut off, or of which a page is another, is told of or read; it ends
// nobody's process and keeps nobody waiting.
func TestAFileThatIsCutOffOrOverwrittenIsToldOf(t *testing.T) {
	t.Parallel()
	s, path := fresh(t)
	for i := range 300 {
		put(t, s, store.Key{"g", strconv.Itoa(i)}, thing{Name: strings.Repeat("x", 500), N: i})
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	damaged := map[string][]byte{"empty but for a byte": whole[:1]}
	for at := page; at < len(whole); at += page {
		damaged["cut off at "+strconv.Itoa(at)] = whole[:at]
		damaged["cut off behind "+strconv.Itoa(at)] = whole[:at+page/2]
		zeros, ones := bytes.Clone(whole), bytes.Clone(whole)
		copy(zeros[at:at+page], make([]byte, page))
		copy(ones[at:at+page], bytes.Repeat([]byte{0xff}, page))
		damaged["zeros at "+strconv.Itoa(at)], damaged["ones at "+strconv.Itoa(at)] = zeros, ones
	}
	for name, content := range damaged {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, path)
			for name, err := range map[string]error{
				"reading": s.View(t.Context(), func(tx *store.Tx) error {
					for _, err := range store.Each[thing](tx, things, store.Key{"g"}) {
						if err != nil {
							return err
						}
					}
					return nil
				}),
				"writing": s.Update(t.Context(), func(tx *store.Tx) error { return store.Put(tx, things, store.Key{"g", "new"}, thing{}) }),
			} {
				if err != nil && !errors.Is(err, store.ErrDamaged) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}
