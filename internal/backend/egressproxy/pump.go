package egressproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// pulse tells one direction of a tunnel that the other one moves.
type pulse struct{ beats atomic.Int64 }

// quietWindows is how many windows without a byte in either direction end a
// tunnel. A window's bytes are known only at its end, and the other direction's
// windows end at other times: one more than the idle time has.
const quietWindows = 2

// pump carries one direction. It is io.Copy, which between two sockets moves bytes
// inside the kernel, in windows of half the idle time: at the end of each it looks
// whether anything moved. An end on one side is passed on and leaves the other
// direction open; anything else stops both. It says how many bytes it carried.
func pump(to, from net.Conn, idle time.Duration, moved *pulse, stop func()) (carried int64) {
	window := max(idle/quietWindows, time.Millisecond)
	quiet := 0
	for {
		before := moved.beats.Load()
		now := time.Now()
		// A peer that takes nothing for two windows has stopped reading.
		stuck := now.Add(2 * window)
		if from.SetReadDeadline(now.Add(window)) != nil || to.SetWriteDeadline(stuck) != nil {
			stop()
			return carried
		}
		n, err := io.Copy(to, from)
		moved.beats.Add(n)
		carried += n
		switch {
		case err == nil:
			if half, ok := to.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
				stop()
			}
			return carried
		case !errors.Is(err, os.ErrDeadlineExceeded), !time.Now().Before(stuck):
			stop()
			return carried
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
