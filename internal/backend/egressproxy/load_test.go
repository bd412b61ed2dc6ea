//go:build linux

package egressproxy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// loadEnv is how long the load goes on; ten minutes of it are a million denials.
const loadEnv = "EGRESS_LOAD"

const (
	loadSandboxes = 50 // the attacker among them
	loadSlow      = 10_000
	loadDenials   = 1_000_000
	loadWhole     = 10 * time.Minute // what loadDenials are for
)

// TestFiftySandboxesOfWhichOneAttacks runs fifty proxies of one pool. Forty-nine
// have programs that ask small and large things by all ways there are; the last one
// first holds as many slow connections as it can, and then asks for what it may not
// have, again and again. Nobody else's request may fail, memory may not grow with
// denials, and nothing may be left. Times are shown and not judged: see
// `make load-egress`.
func TestFiftySandboxesOfWhichOneAttacks(t *testing.T) { //nolint:paralleltest // it measures
	if testing.Short() || raced {
		t.Skip("twenty seconds of load are not short")
	}
	whole, slow := 20*time.Second, loadSlow
	text, asked := os.LookupEnv(loadEnv)
	if asked {
		var err error
		if whole, err = time.ParseDuration(text); err != nil || whole < time.Second {
			t.Fatalf("%s=%q is not a duration of at least a second: %v", loadEnv, text, err)
		}
	}
	if room := descriptorLimit(t) - loadReserve; room < slow {
		if asked {
			t.Fatalf("%d slow connections need %d descriptors: raise the limit, ulimit -n %d", slow, slow+loadReserve, slow+loadReserve)
		}
		t.Logf("only %d of %d slow connections: ulimit -n %d is needed for all", room, slow, slow+loadReserve)
		slow = room
	}
	before := takeStock(t)
	t.Run("load", func(t *testing.T) {
		t.Log("\n" + table(underLoad(t, whole, slow)))
	})
	nothingLeft(t, before)
}

// loadReserve is how many descriptors the load takes beside slow connections.
const loadReserve = 4_000

// stage is one part of the load.
type stage struct {
	name string
	run  func(context.Context) (string, error) // until the stage is over, and what was done
}

// result is what the others saw in a stage, and what the process was like at its end.
type result struct {
	name, attack string
	kept, fresh  []time.Duration
	stock        stock
}

// underLoad runs everything, and closes it.
func underLoad(t *testing.T, whole time.Duration, slow int) []result {
	t.Helper()
	w := newWorld(t)
	defer w.Close()
	loadSites(t, w)
	pool, err := NewPool(PoolLimits{})
	must(t, err)
	crowd := newCrowd(t, w, pool, loadSandboxes-1)
	villain := newVillain(t, w, pool, max(whole/60, 2*time.Second))
	part := func(percent int) time.Duration { return whole * time.Duration(percent) / 100 }
	wait := func(d time.Duration) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return "", pause(ctx, d) }
	}
	denials := int(int64(loadDenials) * int64(whole) / int64(loadWhole))
	stages := []stage{
		{"warming up", wait(part(5))},
		{"before", wait(part(15))},
		{"slow connections", func(ctx context.Context) (string, error) { return villain.slowly(ctx, part(20), slow) }},
		{"denials", func(ctx context.Context) (string, error) { return villain.denied(ctx, part(50), denials) }},
		{"after", wait(part(10))},
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var asking sync.WaitGroup
	asking.Go(func() { crowd.ask(ctx) })
	var rows []result
	for _, s := range stages {
		crowd.turnOver()
		attack, err := s.run(ctx)
		if err = errors.Join(err, crowd.failure()); err != nil {
			t.Errorf("%s: %v", s.name, err)
			break
		}
		r := result{name: s.name, attack: attack, stock: takeStock(t)}
		r.kept, r.fresh = crowd.turnOver()
		rows = append(rows, r)
	}
	cancel()
	asking.Wait()
	t.Log(villain.told(crowd))
	for _, s := range append(crowd.scenes, villain.scene) {
		closing, done := context.WithTimeout(context.Background(), patience)
		must(t, s.proxy.Close(closing))
		done()
	}
	if held := pool.held(); held != "" {
		t.Errorf("the pool still counts %s", held)
	}
	return rows[min(1, len(rows)):]
}

// pause waits for a stage to pass.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// held is what the pool still counts.
func (p *Pool) held() string {
	var held []string
	for name, room := range map[string]chan struct{}{
		"connections": p.connections, "requests": p.requests, "handshakes": p.handshakes, "lookups": p.lookups, "dials": p.dials,
	} {
		if len(room) > 0 {
			held = append(held, fmt.Sprint(len(room), " ", name))
		}
	}
	return strings.Join(held, ", ")
}

func table(rows []result) string {
	var b strings.Builder
	us := func(d []time.Duration, q float64) string {
		return percentile(d, q).Round(10 * time.Microsecond).String()
	}
	fmt.Fprintf(&b, "%-18s %8s %9s %9s %9s %9s %9s %11s %8s  %s\n", "stage", "requests", "p50", "p99", "new p50", "new p99", "memory", "goroutines", "open", "attack")
	for _, r := range rows {
		if len(r.kept) == 0 || len(r.fresh) == 0 {
			fmt.Fprintf(&b, "%-18s nothing was asked\n", r.name)
			continue
		}
		fmt.Fprintf(&b, "%-18s %8d %9s %9s %9s %9s %6d MiB %10d %8d  %s\n", r.name, len(r.kept)+len(r.fresh), us(r.kept, 0.5), us(r.kept, 0.99),
			us(r.fresh, 0.5), us(r.fresh, 0.99), r.stock.memory>>20, r.stock.goroutines, r.stock.descriptors, r.attack)
	}
	return b.String()
}

// stock is what a process has.
type stock struct {
	memory      int64 // live heap and stacks
	goroutines  int
	descriptors int
}

func takeStock(tb testing.TB) stock {
	tb.Helper()
	time.AfterFunc(time.Hour, func() {}).Stop() // Go opens its poller with the first timer
	open, err := os.ReadDir("/proc/self/fd")
	must(tb, err)
	return stock{memory: takeMemory(), goroutines: runtime.NumGoroutine(), descriptors: len(open)}
}

// takeMemory is what the heap and the stacks take, without garbage.
func takeMemory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// nothingLeft waits until the process has no more than it had, but for what Go keeps
// of the goroutines that there were. The pipes that the kernel moved bytes through go with a
// collection of garbage.
func nothingLeft(t *testing.T, before stock) {
	t.Helper()
	const kept = 16 << 20
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		now := takeStock(t)
		if now.goroutines <= before.goroutines && now.descriptors <= before.descriptors && now.memory <= before.memory+kept {
			t.Logf("before: %v; after: %v", before, now)
			return
		}
		if pause(ctx, 10*time.Millisecond) != nil {
			t.Errorf("%v are left, where %v were; open are %q", now, before, openFiles(t))
			return
		}
	}
}

// openFiles are what the descriptors of this process stand for.
func openFiles(tb testing.TB) (names []string) {
	tb.Helper()
	open, err := filepath.Glob("/proc/self/fd/*")
	must(tb, err)
	for _, link := range open {
		if name, err := os.Readlink(link); err == nil {
			names = append(names, name)
		}
	}
	return names
}

func (s stock) String() string {
	return fmt.Sprintf("%d MiB, %d goroutines, %d descriptors", s.memory>>20, s.goroutines, s.descriptors)
}
