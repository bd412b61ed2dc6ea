//go:build linux

package agent

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// maxForwards is how many ports are relayed at once.
const maxForwards = 8

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
	if f.Port == 0 || f.Connections == 0 || f.Connections > maxConnections {
		return errInvalid
	}
	if len(f.Socket) >= len(unix.RawSockaddrUnix{}.Path) {
		return unix.ENAMETOOLONG
	}
	if !a.forward.add() {
		return errStatus(wire.StatusBusy)
	}
	raiseLoopback()
	l, err := listen(f.Port)
	if err != nil {
		a.forward.remove()
		return err
	}
	go serveRelay(l, f)
	return nil
}

// raiseLoopback brings lo up where it is not and this process may; where it may
// not, listening or connecting tells.
func raiseLoopback() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil || unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo) != nil || lo.Uint16()&unix.IFF_UP != 0 {
		return
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	_ = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
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
		if err != nil {
			return
		}
		go func() {
			defer func() { <-room }()
			defer func() { _ = client.Close() }()
			connectThrough(client, f.Socket)
		}()
	}
}

func accept(conn syscall.RawConn) (*os.File, error) {
	var fd int
	var err error
	for {
		waitErr := conn.Read(func(l uintptr) bool {
			fd, _, err = unix.Accept4(int(l), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			return !errors.Is(err, unix.EAGAIN)
		})
		switch {
		case waitErr != nil:
			return nil, waitErr
		case err == nil:
			_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
			return os.NewFile(uintptr(fd), "client"), nil
		case errors.Is(err, unix.EBADF), errors.Is(err, unix.EINVAL):
			return nil, err
		}
		// Everything else is about that one client, or passes.
	}
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

// maxConnections bounds what one forward may be asked to hold.
const maxConnections = 1024
