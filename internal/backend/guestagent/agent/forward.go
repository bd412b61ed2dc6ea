//go:build linux

package agent

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

const (
	maxForwards    = 8    // ports at once
	maxConnections = 1024 // of one port
	maxSocketPath  = 107  // the kernel's, without the NUL
)

type forwards struct {
	mu    sync.Mutex
	count int
}

func (f *forwards) add() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count >= maxForwards {
		return false
	}
	f.count++
	return true
}

func (f *forwards) remove() {
	f.mu.Lock()
	f.count--
	f.mu.Unlock()
}

// relay listens on the loopback port and connects each client to the Unix socket
// until the agent ends.
func (a *Agent) relay(f wire.Forward) error {
	if f.Port == 0 || f.Connections == 0 || f.Connections > maxConnections ||
		f.Socket == "" || f.Socket[0] != '/' || len(f.Socket) > maxSocketPath || strings.Contains(f.Socket, "\x00") {
		return errInvalid
	}
	if !a.forward.add() {
		return errStatus(wire.StatusBusy)
	}
	l, err := openForward(f.Port)
	if err != nil {
		a.forward.remove()
		return err
	}
	go serveRelay(l, f)
	return nil
}

func openForward(port uint16) (*os.File, error) {
	if err := raiseLoopback(); err != nil {
		return nil, err
	}
	return listen(port)
}

// raiseLoopback brings lo up where it is not, if this process may.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil || lo.Uint16()&unix.IFF_UP != 0 {
		return err
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

const socketFlags = unix.SOCK_STREAM | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC

func listen(port uint16) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET, socketFlags, 0)
	if err != nil {
		return nil, err
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(fd, 128)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "listener"), nil
}

// serveRelay takes no more clients than it may; the others wait to be accepted.
func serveRelay(l *os.File, f wire.Forward) {
	conn, err := l.SyscallConn()
	if err != nil {
		return
	}
	room := make(chan struct{}, f.Connections)
	for {
		room <- struct{}{}
		client, err := accept(conn)
		switch {
		case err == nil:
			go func() {
				defer func() { <-room }()
				defer func() { _ = client.Close() }()
				connectThrough(client, f.Socket)
			}()
		case outOfDescriptors(err):
			// The client waits; one that ends makes room, and so does time.
			<-room
			<-time.After(acceptPause)
		case errors.Is(err, os.ErrClosed), errors.Is(err, unix.EINVAL):
			return
		default:
			<-room // it was about that client
		}
	}
}

const acceptPause = 50 * time.Millisecond

func outOfDescriptors(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM)
}

func accept(conn syscall.RawConn) (*os.File, error) {
	var (
		fd  int
		err error
	)
	waitErr := conn.Read(func(l uintptr) bool {
		fd, _, err = unix.Accept4(int(l), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		return !errors.Is(err, unix.EAGAIN)
	})
	if err := errors.Join(waitErr, err); err != nil {
		return nil, err
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // only costs time where it fails
	return os.NewFile(uintptr(fd), "client"), nil
}

func connectThrough(client *os.File, socket string) {
	fd, err := unix.Socket(unix.AF_UNIX, socketFlags, 0)
	if err != nil {
		return
	}
	// A Unix socket connects at once or not at all: a full backlog is EAGAIN.
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		_ = unix.Close(fd)
		return
	}
	server := os.NewFile(uintptr(fd), "server")
	defer func() { _ = server.Close() }()
	var other sync.WaitGroup
	other.Go(func() { pass(server, client) })
	pass(client, server)
	other.Wait()
}

var relayBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// pass moves bytes one way, then the end. Where the receiver is gone the sender
// is told.
func pass(to, from *os.File) {
	buf, ok := relayBuffers.Get().(*[64 << 10]byte)
	if !ok {
		return
	}
	defer relayBuffers.Put(buf)
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, buf[:])
	shutdown(to, unix.SHUT_WR)
	if err != nil {
		shutdown(from, unix.SHUT_RD)
	}
}

func shutdown(f *os.File, how int) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), how) })
}
