//go:build unix

package egressproxy

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// reading gives a function that reads from a connection into a piece that it takes
// once there is something to read, and that is the caller's then.
func (p *Proxy) reading(from net.Conn) func() (*[streamBuffer]byte, int, error) {
	var raw syscall.RawConn
	if conn, ok := from.(syscall.Conn); ok {
		raw, _ = conn.SyscallConn() // without one it is read as any other
	}
	if raw == nil {
		return p.readingPlainly(from)
	}
	return func() (piece *[streamBuffer]byte, n int, err error) {
		waited := raw.Read(func(fd uintptr) bool {
			piece = p.takePiece()
			for {
				n, err = syscall.Read(int(fd), piece[:])
				if !errors.Is(err, syscall.EINTR) {
					break
				}
			}
			if !errors.Is(err, syscall.EAGAIN) {
				return true
			}
			p.pieces.Put(piece)
			piece = nil
			return false
		})
		switch {
		case waited != nil: // before there was anything
			return nil, 0, waited
		case err != nil:
			return piece, 0, err
		case n == 0:
			return piece, 0, io.EOF
		}
		return piece, n, nil
	}
}
