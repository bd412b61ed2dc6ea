package spawn

import (
	"context"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func newThread(t *testing.T) *Thread {
	t.Helper()
	thread, err := NewThread()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(thread.Close)
	return thread
}

// says starts a shell and answers what it writes.
func says(t *testing.T, thread *Thread, command string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	p, err := thread.Start(t.Context(), Child{Path: "/bin/sh", Args: []string{"sh", "-c", command}, Files: []*os.File{nil, w, w}})
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestAChildGetsNothingThatItIsNotGiven(t *testing.T) {
	t.Parallel()
	// As a careless parent of this process would have left it.
	leaked, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(leaked) }()
	thread := newThread(t)
	if got := says(t, thread, "tr '\\0' '\\n' < /proc/self/environ; ls -l /proc/$$/fd | grep -c -e null -e socket"); got != "0" {
		t.Errorf("a child has %q", got)
	}
	if got := says(t, thread, "pwd"); got != "/" {
		t.Errorf("a child starts in %q", got)
	}
}

func TestChildrenOutliveWhoAskedAndEndWithTheThread(t *testing.T) {
	t.Parallel()
	thread, err := NewThread()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan *os.Process)
	go func() {
		runtime.LockOSThread() // and never unlock: this thread ends
		p, err := thread.Start(context.Background(), Child{Path: "/bin/sleep", Args: []string{"sleep", "3600"}})
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	p := <-started
	if p == nil {
		return
	}
	for range 50 { // threads come and go
		over := make(chan struct{})
		go func() { runtime.LockOSThread(); close(over) }()
		<-over
	}
	if err := p.Signal(unix.Signal(0)); err != nil {
		t.Errorf("the child ended with who asked for it: %v", err)
	}
	thread.Close()
	state, err := p.Wait()
	if err != nil || state.String() != "signal: killed" {
		t.Errorf("%v, %v", state, err)
	}
	if _, err := thread.Start(t.Context(), Child{Path: "/bin/true", Args: []string{"true"}}); err == nil {
		t.Error("a thread that has ended starts children")
	}
}

func TestMarkedProcessesAreEndedAndOthersAreNot(t *testing.T) {
	t.Parallel()
	thread := newThread(t)
	mark := "spawn-test-" + strings.ToLower(rawTime())
	start := func(zeroth string) *os.Process {
		p, err := thread.Start(t.Context(), Child{Path: "/bin/sleep", Args: []string{zeroth, "3600"}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ours, other := start(mark), start(mark+"x")
	waited := make(chan string)
	go func() {
		state, _ := ours.Wait()
		waited <- state.String()
	}()
	if err := EndMarked(t.Context(), mark); err != nil {
		t.Error(err)
	}
	if got := <-waited; got != "signal: killed" {
		t.Error(got)
	}
	if err := other.Signal(unix.Signal(0)); err != nil {
		t.Errorf("another process was ended: %v", err)
	}
	_ = other.Kill()
	_, _ = other.Wait()
}

func rawTime() string { return time.Now().Format("150405.000000000") }

func TestAHostThatNotedNoMarkEndsNobody(t *testing.T) {
	t.Parallel()
	// Every thread of the kernel has no arguments, and so it would never return.
	if err := EndMarked(t.Context(), ""); err == nil {
		t.Error("processes without a mark were ended")
	}
}
