//go:build linux

package agent

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// faults are the signals that the Go runtime takes for a fault of its own unless
// kill sent them: sigqueue can forge them. Their only sender in a sound agent is
// a guest, so they are ignored; a real fault ends the process all the same.
// Children do not inherit that: before exec the runtime gives every signal that
// it handles its default action back. Signals 32 to 34 have no handler, since the
// runtime leaves them to a C library: Linux does not end the first process of a
// namespace by a signal without one. gVisor does, as it does by SIGKILL.
var faults = [...]unix.Signal{
	unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS,
}

// libraries are the signals of a C library. A host that was started by posix_spawn,
// as make starts programs, ignores the first of them, and so would everything
// below it.
var libraries = [...]unix.Signal{32, 33, 34}

// watchSignals catches every signal and does nothing about any but SIGCHLD, each
// of which calls ended; ready is closed once it does. It returns when stop is
// closed. Caught, not ignored: children inherit what is ignored.
func watchSignals(stop <-chan struct{}, ready chan<- struct{}, ended func()) {
	all := make(chan os.Signal, 64)
	child := make(chan os.Signal, 1) // one that waits stands for all
	signal.Notify(all)
	signal.Notify(child, unix.SIGCHLD)
	for _, sig := range faults {
		act(sig, ignored)
	}
	for _, sig := range libraries {
		act(sig, byDefault)
	}
	defer signal.Stop(all)
	defer signal.Stop(child)
	close(ready)
	for {
		select {
		case <-all:
		case <-child:
			ended()
		case <-stop:
			return
		}
	}
}

// sigaction is the kernel's, for both architectures; flags and restorer are not
// used without a handler.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// The handlers that are none.
const (
	byDefault uintptr = 0 // SIG_DFL
	ignored   uintptr = 1 // SIG_IGN
)

// act changes the kernel's mind alone; the runtime goes on to think what it thought
// of the signal.
func act(sig unix.Signal, handler uintptr) {
	a := sigaction{handler: handler}
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&a)), 0, 8, 0, 0) //nolint:gosec // the kernel reads one struct
}
