package backend

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestTheLockTableForgetsNamesThatNobodyUses(t *testing.T) {
	t.Parallel()
	var locks keyedLocks
	counts := make([]int, 4)
	var group sync.WaitGroup
	for i := range 400 {
		group.Go(func() {
			n := i % len(counts)
			unlock, err := locks.lock(t.Context(), strconv.Itoa(n), identity{})
			if err != nil {
				t.Error(err)
				return
			}
			counts[n]++ // the race detector watches
			unlock()
		})
	}
	group.Wait()
	unlock, err := locks.lock(t.Context(), "held", identity{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.lock(ctx, "held", identity{}); err == nil {
		t.Error("a held lock was given out")
	}
	unlock()
	if len(locks.held) != 0 {
		t.Errorf("%d names kept", len(locks.held))
	}
}

func TestAWaiterLendsItsIdentityToALockTakenByNameOnly(t *testing.T) {
	t.Parallel()
	var locks keyedLocks
	unlock, err := locks.lock(t.Context(), "n", identity{})
	if err != nil {
		t.Fatal(err)
	}
	who := identity{owner: "o", key: sandbox.Key{Scope: "s"}, kind: "k"}
	var group sync.WaitGroup
	entered := make(chan struct{})
	group.Go(func() {
		done, err := locks.lock(t.Context(), "n", who)
		if err != nil {
			t.Error(err)
			return
		}
		close(entered)
		done()
	})
	unlock()
	<-entered
	group.Wait()
}

func FuzzDigestsOfDifferentPartsDiffer(f *testing.F) {
	f.Add("a", "bc", "ab", "c")
	f.Add("a|b", "c", "a", "b|c")
	f.Add("", "", "\x00", "")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		l := newLabeler(nil, "owner")
		same := a == c && b == d
		if got := l.digest("p", a, b) == l.digest("p", c, d); got != same {
			t.Errorf("(%q, %q) and (%q, %q): equal digests %t", a, b, c, d, got)
		}
	})
}
