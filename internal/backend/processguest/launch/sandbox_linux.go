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
	words   *os.File // what the monitor and process 1 said of errors
	ended   chan struct{}
}

// Done is closed when process 1 and with it everything in the sandbox has ended.
func (s *Sandbox) Done() <-chan struct{} { return s.ended }

// End kills the sandbox and returns when it is seen to have ended.
func (s *Sandbox) End(ctx context.Context) error {
	err := kill(s.pidfd)
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("wait for the end of a sandbox: %w", context.Cause(ctx)), err)
	}
}

// Words are what the programs that build the sandbox said of an error, at most a
// page, and nothing once the guest has run: they share that page with it.
func (s *Sandbox) Words() string { return read(s.words) }

// watch waits for the end of both processes. The monitor ends after process 1
// unless somebody kills it, which takes process 1 along.
func (s *Sandbox) watch() {
	defer close(s.ended)
	_, _ = s.monitor.Wait() // how it ended says nothing about process 1
	waitFor(s.pidfd)
	_ = s.pidfd.Close()
	_ = s.words.Close()
}

// waitFor returns when the process of a descriptor has ended. The kernel ends all
// of a process namespace before it lets its process 1 end.
func waitFor(pidfd *os.File) {
	for {
		poll := []unix.PollFd{{Fd: int32(pidfd.Fd()), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err == nil || !errors.Is(err, unix.EINTR) {
			return
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
	fd, err := unix.PidfdOpen(pid, 0)
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
