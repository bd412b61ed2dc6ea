package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Sandbox is a process 1 that was started.
type Sandbox struct {
	// Out is what process 1 writes, In what it reads. Whoever launched the sandbox
	// closes them.
	Out, In *os.File
	// PID is process 1 in the host's own numbers.
	PID int
	// Namespaces are the kernel's numbers of the sandbox's namespaces, by name.
	Namespaces map[string]uint64
	// Limited says whether its processes are held to the request's Limits.
	Limited bool

	monitor *os.Process
	pidfd   *os.File
	also    []*os.File // more processes of the host that the sandbox is made of
	words   *os.File   // what the monitor and process 1 said of errors
	ended   chan struct{}
	leave   func() error // removes what was on disk
}

// Done is closed when process 1 and with it everything in the sandbox has ended.
func (s *Sandbox) Done() <-chan struct{} { return s.ended }

// End kills the sandbox and returns when it is seen to have ended.
func (s *Sandbox) End(ctx context.Context) error {
	err := kill(s.pidfd)
	for _, p := range s.also {
		err = errors.Join(err, kill(p))
	}
	select {
	case <-s.ended:
		if s.leave != nil {
			return s.leave()
		}
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("wait for the end of a sandbox: %w", context.Cause(ctx)), err)
	}
}

// Words are what the programs that build the sandbox said of an error, at most a
// page, and nothing once the guest has run: they share that page with it.
func (s *Sandbox) Words() string { return read(s.words) }

// watch waits for the end of both processes. The monitor ends right after process
// 1; if somebody kills it, it takes process 1 along.
func (s *Sandbox) watch() {
	defer close(s.ended)
	parts := append([]*os.File{s.pidfd}, s.also...)
	for _, p := range parts {
		waitFor(p)
	}
	_, _ = s.monitor.Wait() // how it ended says nothing about process 1
	for _, p := range parts {
		_ = p.Close()
	}
	_ = s.words.Close()
}

// waitFor returns when the process of a descriptor has ended, and holds no thread
// until then. The kernel ends all of a process namespace before it lets its
// process 1 end.
func waitFor(pidfd *os.File) {
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return // closed: whoever did that has seen the end
	}
	waited := raw.Read(func(fd uintptr) bool { return ended(fd, 0) })
	if waited != nil { // the runtime cannot wait for such a descriptor
		_ = raw.Control(func(fd uintptr) { ended(fd, -1) })
	}
}

// ended reports whether a process has ended within so many milliseconds.
func ended(pidfd uintptr, wait int) bool {
	for {
		poll := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, wait)
		if !errors.Is(err, unix.EINTR) {
			return err != nil || n > 0
		}
	}
}

func kill(pidfd *os.File) error {
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return fmt.Errorf("end a sandbox: %w", err)
	}
	var sent error
	err = raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) })
	if err != nil || errors.Is(sent, unix.ESRCH) {
		return nil //nolint:nilerr // the descriptor is closed after the end was seen
	}
	return sent
}

// hold opens a descriptor of process 1 and makes sure that it is the monitor's
// child and no later process of that number.
func hold(pid, monitor int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("hold process 1 of a sandbox: %w", err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil || !strings.Contains(string(status), "\nPPid:\t"+strconv.Itoa(monitor)+"\n") {
		return nil, errors.Join(errors.New("process 1 of a sandbox ended as it began"), err, f.Close())
	}
	return f, nil
}

// page is a file for words of at most one page: nobody has to read it, and
// nobody can make it grow.
func page() (*os.File, error) {
	const size = 4096
	fd, err := unix.MemfdCreate("words", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a page for errors: %w", err)
	}
	f := os.NewFile(uintptr(fd), "words")
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func read(words *os.File) string {
	buffer := make([]byte, 4096)
	n, err := words.ReadAt(buffer, 0)
	if n == 0 && err != nil {
		return ""
	}
	return strings.Trim(string(buffer[:n]), "\x00\n ")
}
