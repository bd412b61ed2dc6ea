package process

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// descriptors counts those of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

//nolint:paralleltest // it counts what this process holds
func TestManySandboxesComeAndGoWithoutATrace(t *testing.T) {
	e := newEngine(t, testConfig(t))
	const workers = 16
	round := func(sandboxes int64) {
		var next atomic.Int64
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for n := next.Add(1); n <= sandboxes; n = next.Add(1) {
					if err := useOnce(t, e, fmt.Sprintf("s%d", n)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	round(2 * workers) // what is made once is made
	fds, memory, threads := descriptors(t), heap(), runtime.NumGoroutine()
	const sandboxes = 500
	round(sandboxes)
	if got := descriptors(t); got > fds+4 {
		t.Errorf("%d descriptors, %d before", got, fds)
	}
	if got := runtime.NumGoroutine(); got > threads+4 {
		t.Errorf("%d goroutines, %d before", got, threads)
	}
	if got := heap(); got > memory+(8<<20) {
		t.Errorf("%d bytes of heap, %d before", got, memory)
	}
	if found, err := e.List(t.Context(), nil); err != nil || len(found) != 0 {
		t.Errorf("%d sandboxes are left, %v", len(found), err)
	}
	t.Logf("%d sandboxes: descriptors %d → %d, heap %d → %d KiB", sandboxes, fds, descriptors(t), memory>>10, heap()>>10)
}

func useOnce(t *testing.T, e *Engine, name string) error {
	t.Helper()
	s, err := e.Start(t.Context(), engine.StartRequest{Name: name, WorkDir: "/work"})
	if err != nil {
		return err
	}
	code, err := runner(s.Guest).Exec(t.Context(), engine.ExecRequest{Args: []string{"/bin/sh", "-c", "echo x > x"}, Dir: "/work"})
	if err != nil || code != 0 {
		return fmt.Errorf("exit code %d: %w", code, err)
	}
	return e.Delete(t.Context(), s.Guest.ID())
}
