package egressproxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// Socket is the listener of one sandbox: a Unix socket in a private directory of
// its own.
type Socket struct {
	net.Listener
	directory string
}

// socketName is what the socket is called in its directory.
const socketName = "proxy.sock"

// Listen makes a directory below parent that only this user may enter, and a
// socket in it. The socket itself may be written by anybody, since a sandbox runs
// as another user: whom it reaches is decided by whom it is mounted for.
func Listen(parent string) (*Socket, error) {
	directory, err := os.MkdirTemp(parent, "egress-") // 0700
	if err != nil {
		return nil, fmt.Errorf("make the directory of an egress socket: %w", err)
	}
	socket := &Socket{directory: directory}
	if socket.Listener, err = listenIn(directory); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the guest: %w", err), os.RemoveAll(directory))
	}
	if err := os.Chmod(socket.Path(), 0o666); err != nil {
		return nil, errors.Join(fmt.Errorf("open the egress socket to the sandbox's user: %w", err), socket.Close())
	}
	return socket, nil
}

// Directory is the socket's own.
func (s *Socket) Directory() string { return s.directory }

// Path is where the socket is, to be mounted into the sandbox.
func (s *Socket) Path() string { return filepath.Join(s.directory, socketName) }

// Close ends listening and removes the socket and its directory. Once is enough,
// and twice does no harm.
func (s *Socket) Close() error {
	err := s.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	if gone := os.RemoveAll(s.directory); gone != nil {
		err = errors.Join(err, fmt.Errorf("remove the directory of an egress socket: %w", gone))
	}
	return err
}
