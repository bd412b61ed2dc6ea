//go:build linux

package egressproxy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

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
func nothingLeft(t *testing.T, before stock) string {
	t.Helper()
	const kept = 16 << 20
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		now := takeStock(t)
		if now.goroutines <= before.goroutines && now.descriptors <= before.descriptors && now.memory <= before.memory+kept {
			return fmt.Sprintf("had %v before and has %v after", before, now)
		}
		if pause(ctx, 10*time.Millisecond) != nil {
			t.Errorf("%v are left, where %v were; open are %q", now, before, openFiles(t))
			return ""
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
