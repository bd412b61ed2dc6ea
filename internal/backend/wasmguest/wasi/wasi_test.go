package wasi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/wazerotest"
	"github.com/tetratelabs/wazero/sys"
	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host calls the functions as a guest would, with a memory of its own.
type host struct {
	t      *testing.T
	ctx    context.Context
	cancel context.CancelFunc
	p      *Process
	mod    api.Module
	memory api.Memory
	fs     *memfs.FS
	out    bytes.Buffer
}

const memorySize = 1 << 20

func newHost(t *testing.T, change func(*Process)) *host {
	t.Helper()
	memory := wazerotest.NewFixedMemory(memorySize)
	h := &host{t: t, mod: wazerotest.NewModule(memory), memory: memory}
	h.fs = memfs.New(memfs.Limits{Bytes: 1000, FileBytes: 1000, Entries: 1000}, time.Now)
	h.p = &Process{
		Args: []string{"name", "arg"}, MemoryLimit: 12345, Source: []byte("source"),
		Mounts: []Mount{{"/work", h.fs.Root()}},
		Stdout: &h.out, Stderr: io.Discard, Now: time.Now, Rand: constant(7),
	}
	if change != nil {
		change(h.p)
	}
	ctx, cancel := context.WithCancel(t.Context())
	h.ctx, h.cancel = h.p.Bind(ctx), cancel
	t.Cleanup(func() {
		cancel()
		if err := h.p.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

type constant byte

func (c constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

// call answers the function's errno. ended reports that it ended the guest.
func (h *host) call(name string, args ...uint64) (e errno, ended bool) {
	h.t.Helper()
	for _, f := range append(wasiFunctions(), sandboxFunctions()...) {
		if f.name != name {
			continue
		}
		if len(args) != len(f.params) {
			h.t.Fatalf("%s takes %d arguments", name, len(f.params))
		}
		stack := append(args, 0)
		defer func() {
			if r := recover(); r != nil {
				var exit *sys.ExitError
				if err, ok := r.(error); !ok || !errors.As(err, &exit) {
					panic(r)
				}
				ended = true
			}
		}()
		f.Call(h.ctx, h.mod, stack)
		return errno(stack[0]), false
	}
	h.t.Fatalf("no function %s", name)
	return 0, false
}

func (h *host) must(want errno, name string, args ...uint64) {
	h.t.Helper()
	if e, ended := h.call(name, args...); e != want || ended {
		h.t.Errorf("%s%v: errno %d, ended %v; want %d", name, args, e, ended, want)
	}
}

func (h *host) put(at uint32, b []byte) { h.memory.Write(at, b) }

func (h *host) u32(at uint32) uint32 { v, _ := h.memory.ReadUint32Le(at); return v }

// vector puts one buffer's address at 16 and answers the arguments for it.
func (h *host) vector(at, size uint32) (ptr, count uint64) {
	h.memory.WriteUint32Le(16, at)
	h.memory.WriteUint32Le(20, size)
	return 16, 1
}

// open opens a path and answers its descriptor.
func (h *host) open(path string, flags, rights, fdflags uint64) (uint64, errno) {
	h.t.Helper()
	h.put(4096, []byte(path))
	e, _ := h.call("path_open", 3, 0, 4096, uint64(len(path)), flags, rights, 0, fdflags, 8)
	return uint64(h.u32(8)), e
}

const readWrite = rightRead | rightWrite

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	subscribe := make([]byte, subscriptionSize)
	binary.LittleEndian.PutUint32(subscribe[16:], clockMonotonic)
	binary.LittleEndian.PutUint64(subscribe[24:], uint64(time.Hour))
	h.put(1000, subscribe)
	time.AfterFunc(time.Millisecond, h.cancel)
	if _, ended := h.call("poll_oneoff", 1000, 2000, 1, 3000); !ended || !errors.Is(h.p.Err(), context.Canceled) {
		t.Errorf("ended %v, %v", ended, h.p.Err())
	}
	if _, ended := h.call("sched_yield"); !ended {
		t.Error("a later call went on")
	}
}

func TestSleepOfNothingReturns(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	for _, c := range []struct {
		clock   uint32
		timeout uint64
		flags   uint16
	}{
		{clockMonotonic, 0, 0},
		{clockRealtime, uint64(time.Now().Add(-time.Hour).UnixNano()), clockAbsolute},
		{clockMonotonic, 1, clockAbsolute},
		{clockMonotonic, uint64(time.Microsecond), 0},
	} {
		s := make([]byte, subscriptionSize)
		s[0] = 42
		binary.LittleEndian.PutUint32(s[16:], c.clock)
		binary.LittleEndian.PutUint64(s[24:], c.timeout)
		binary.LittleEndian.PutUint16(s[40:], c.flags)
		h.put(1000, s)
		h.must(success, "poll_oneoff", 1000, 2000, 1, 3000)
		if h.u32(3000) != 1 || h.u32(2000) != 42 {
			t.Errorf("%+v: %d events of %d", c, h.u32(3000), h.u32(2000))
		}
	}
}

func TestPollAnswersWhatIsReady(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	clock := make([]byte, subscriptionSize)
	binary.LittleEndian.PutUint64(clock[24:], math.MaxUint64)
	read := make([]byte, subscriptionSize)
	read[0], read[8] = 1, eventRead
	bad := make([]byte, subscriptionSize)
	bad[0], bad[8] = 2, eventWrite
	binary.LittleEndian.PutUint32(bad[16:], 99)
	unknown := make([]byte, subscriptionSize)
	unknown[0], unknown[8] = 3, 9
	h.put(1000, bytes.Join([][]byte{clock, read, bad, unknown}, nil))
	h.must(success, "poll_oneoff", 1000, 2000, 4, 3000)
	if h.u32(3000) != 3 {
		t.Fatalf("%d events", h.u32(3000))
	}
	for i, want := range []errno{success, errBadf, errInval} {
		event, _ := h.memory.Read(2000+uint32(i)*eventSize, eventSize)
		if event[0] != byte(i+1) || errno(binary.LittleEndian.Uint16(event[8:])) != want {
			t.Errorf("event %d: % x", i, event)
		}
	}
	h.must(errInval, "poll_oneoff", 1000, 2000, 0, 3000)
	h.must(errInval, "poll_oneoff", 0, 0, maxSubscriptions+1, 3000)
	h.must(errFault, "poll_oneoff", memorySize-1, 2000, 1, 3000)
}

func TestHugeRandomEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var h *host
	h = newHost(t, func(p *Process) {
		p.Rand = readerFunc(func(b []byte) (int, error) { h.cancel(); return len(b), nil })
	})
	if _, ended := h.call("random_get", 0, memorySize); !ended || !errors.Is(h.p.Err(), context.Canceled) {
		t.Errorf("ended %v, %v", ended, h.p.Err())
	}
	h = newHost(t, nil)
	h.must(success, "random_get", 100, 3)
	if got, _ := h.memory.Read(99, 5); string(got) != "\x00\x07\x07\x07\x00" {
		t.Errorf("%q", got)
	}
	h.must(errFault, "random_get", memorySize, 1)
	h = newHost(t, func(p *Process) { p.Rand = strings.NewReader("") })
	if _, ended := h.call("random_get", 0, 1); !ended || !errors.Is(h.p.Err(), io.EOF) {
		t.Error("went on without randomness")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestBlockedReadEndsWithItsContextAndWritesNowhere(t *testing.T) {
	t.Parallel()
	reading, release := make(chan struct{}), make(chan struct{})
	h := newHost(t, func(p *Process) {
		p.Stdin = readerFunc(func(b []byte) (int, error) {
			close(reading)
			<-release
			return copy(b, "late"), io.EOF
		})
	})
	go func() { <-reading; h.cancel() }()
	ptr, count := h.vector(100, 10)
	if _, ended := h.call("fd_read", 0, ptr, count, 8); !ended {
		t.Error("went on")
	}
	close(release)
	if got, _ := h.memory.Read(100, 10); string(got) != strings.Repeat("\x00", 10) {
		t.Errorf("a late read wrote %q into the guest", got)
	}
}

func TestInputArrivesWholeAndEnds(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(p *Process) { p.Stdin = strings.NewReader("abcdefg") })
	var got []byte
	for range 4 {
		ptr, count := h.vector(100, 3)
		h.must(success, "fd_read", 0, ptr, count, 8)
		b, _ := h.memory.Read(100, h.u32(8))
		got = append(got, b...)
	}
	if string(got) != "abcdefg" {
		t.Errorf("%q", got)
	}
	h = newHost(t, nil) // no input
	ptr, count := h.vector(100, 3)
	h.must(success, "fd_read", 0, ptr, count, 8)
	if h.u32(8) != 0 {
		t.Error("read something from nothing")
	}
}

func TestWriterThatFailsEndsTheGuest(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	h := newHost(t, func(p *Process) { p.Stderr = writerFunc(func([]byte) (int, error) { return 0, full }) })
	ptr, count := h.vector(100, 3)
	h.must(success, "fd_write", 1, ptr, count, 8)
	if h.out.Len() != 3 || h.u32(8) != 3 {
		t.Error("standard output did not get it")
	}
	if _, ended := h.call("fd_write", 2, ptr, count, 8); !ended || !errors.Is(h.p.Err(), full) {
		t.Errorf("ended %v, %v", ended, h.p.Err())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestArgumentsAndNoEnvironment(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	h.must(success, "args_sizes_get", 100, 104)
	if h.u32(100) != 2 || h.u32(104) != 9 {
		t.Errorf("%d arguments in %d bytes", h.u32(100), h.u32(104))
	}
	h.must(success, "args_get", 200, 300)
	if got, _ := h.memory.Read(h.u32(204), 4); string(got) != "arg\x00" {
		t.Errorf("%q", got)
	}
	h.must(errFault, "args_get", 200, memorySize-2)
	h.put(100, []byte{1, 1, 1, 1, 1, 1, 1, 1})
	h.must(success, "environ_sizes_get", 100, 104)
	if h.u32(100) != 0 || h.u32(104) != 0 {
		t.Error("there is an environment")
	}
}

func TestOwnGuestGetsSourceAndLimit(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	if n, _ := h.call("memory_limit"); n != 12345 {
		t.Error(n)
	}
	if n, _ := h.call("source", 100, 5); n != 6 || h.u32(100) != 0 {
		t.Error("a short buffer was filled")
	}
	if n, _ := h.call("source", 100, 6); n != 6 {
		t.Error(n)
	}
	if got, _ := h.memory.Read(100, 6); string(got) != "source" {
		t.Errorf("%q", got)
	}
}

func TestExitIsAnExit(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	if _, ended := h.call("proc_exit", 3); !ended || h.p.Err() != nil {
		t.Errorf("ended %v, %v", ended, h.p.Err())
	}
}

// TestNothingIsBroughtDown calls every function with hostile numbers.
func TestNothingIsBroughtDown(t *testing.T) {
	t.Parallel()
	values := []uint64{0, 1, 3, 4, 8, memorySize - 1, memorySize, math.MaxInt32, math.MaxUint32, math.MaxInt64, math.MaxUint64}
	for _, f := range wasiFunctions() {
		if f.name == "poll_oneoff" { // would sleep: it has tests of its own
			continue
		}
		h := newHost(t, nil)
		for n := range 1500 {
			args := make([]uint64, len(f.params))
			for i := range args {
				args[i] = values[(n*(i+7)*31+n>>i)%len(values)]
			}
			h.call(f.name, args...)
		}
	}
}
