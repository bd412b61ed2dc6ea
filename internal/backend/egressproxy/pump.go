package egressproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pulse tells one direction of a tunnel that the other one moves.
type pulse struct{ beats atomic.Int64 }

// relay carries bytes both ways until both sides have ended, one of them breaks,
// or nothing moved for as long as idle. It says how many it carried.
func (p *Proxy) relay(guest, server net.Conn, idle time.Duration) (sent, received int64) {
	var both sync.WaitGroup
	var moved pulse
	stop := func() {
		guest.Close()
		server.Close()
	}
	both.Go(func() { received = p.pump(guest, server, idle, &moved, stop) })
	sent = p.pump(server, guest, idle, &moved, stop)
	both.Wait()
	return sent, received
}

// quietWindows is how many windows without a byte in either direction end a
// tunnel. A window's bytes are known only at its end, and the other direction's
// windows end at other times: one more than the idle time has.
const quietWindows = 2

// A direction that fills whole buffers is moved by the kernel for a while, and goes
// on so while it moves this much.
const (
	burst      = 50 * time.Millisecond
	burstBytes = 1 << 20
)

// pump carries one direction, in windows of half the idle time: at the end of each
// it looks whether anything moved. An end on one side is passed on and leaves the
// other direction open; anything else stops both. It says how many bytes it carried.
func (p *Proxy) pump(to, from net.Conn, idle time.Duration, moved *pulse, stop func()) (carried int64) {
	window := max(idle/quietWindows, time.Millisecond)
	quiet, bursting := 0, false
	for {
		before := moved.beats.Load()
		now := time.Now()
		until := now.Add(window)
		if bursting {
			until = now.Add(min(burst, window))
		}
		// A peer that takes nothing for two windows has stopped reading.
		stuck := now.Add(2 * window)
		if from.SetReadDeadline(until) != nil || to.SetWriteDeadline(stuck) != nil {
			stop()
			return carried
		}
		n, err := p.carryOn(to, from, bursting)
		moved.beats.Add(n)
		carried += n
		switch {
		case err == nil:
			if half, ok := to.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
				stop()
			}
			return carried
		case errors.Is(err, errBurst):
			bursting = true
			continue
		case !errors.Is(err, os.ErrDeadlineExceeded), !time.Now().Before(stuck):
			stop()
			return carried
		case bursting:
			bursting = n >= burstBytes
			continue
		}
		quiet++
		if n > 0 || moved.beats.Load() != before {
			quiet = 0
		}
		if quiet > quietWindows {
			stop()
			return carried
		}
	}
}

// errBurst is returned where there is more than fits into a buffer.
var errBurst = errors.New("a burst")

// carryOn is io.Copy for connections that mostly wait: there is a buffer only while
// there is something in it.
//
// In a burst it is io.Copy itself, which has the kernel move the bytes, through a
// pipe. That is faster from a TCP socket to a Unix socket and slower the other way
// round, and the pipe is there for as long as io.Copy waits: two descriptors more
// for each direction, and a user has only so many pages of pipes.
func (p *Proxy) carryOn(to, from net.Conn, bursting bool) (carried int64, err error) {
	if bursting {
		return io.Copy(to, from)
	}
	_, unix := to.(*net.UnixConn)
	_, tcp := from.(*net.TCPConn)
	read := p.reading(from)
	for {
		piece, n, err := read()
		if n > 0 {
			written, failed := to.Write(piece[:n])
			carried += int64(written)
			if failed != nil {
				err = failed
			}
		}
		if piece != nil {
			p.pieces.Put(piece)
		}
		switch {
		case errors.Is(err, io.EOF):
			return carried, nil
		case err != nil:
			return carried, err
		case unix && tcp && n == streamBuffer:
			return carried, errBurst
		}
	}
}

// readingPlainly holds a piece while it waits.
func (p *Proxy) readingPlainly(from net.Conn) func() (*[streamBuffer]byte, int, error) {
	return func() (*[streamBuffer]byte, int, error) {
		piece := p.takePiece()
		n, err := from.Read(piece[:])
		return piece, n, err
	}
}
