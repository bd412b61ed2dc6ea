//go:build linux

package agent

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// drainGrace is how long output may still come after the program has ended, from
// something it left behind that holds its streams open.
const drainGrace = 100 * time.Millisecond

// output carries one stream of a program to the host.
type output struct {
	call   *serve.Call
	stream uint8
	pipe   *pipe
	wide   bool
}

// A stream that fills its pipe gets a larger one. Not every stream does: a user's
// pipes share a budget, and beyond it the kernel gives new ones a page or two.
const (
	usualPipe = 64 << 10
	widePipe  = 256 << 10
)

func (o *output) widen(conn syscall.RawConn) {
	o.wide = true
	// Where the kernel declines it stays as it was.
	_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, widePipe) })
}

// carry ends at the stream's end, or after the program's with all that was in the
// pipe then and what came in the grace after it. It learns of the program's end by
// [pipe.interrupt].
func (o *output) carry() {
	conn, err := o.pipe.ours.SyscallConn()
	if err != nil {
		return
	}
	if !errors.Is(o.move(conn, -1), os.ErrDeadlineExceeded) {
		return
	}
	// All that the program wrote is in the pipe, or through.
	until := time.Now().Add(drainGrace)
	select {
	case <-o.call.Cancelled():
		until = time.Now()
	default:
	}
	if o.pipe.ours.SetReadDeadline(time.Time{}) != nil {
		return
	}
	if err := o.move(conn, held(conn)); err != nil {
		return
	}
	if o.pipe.ours.SetReadDeadline(until) != nil {
		return
	}
	_ = o.move(conn, -1) // an end or a cut, and the same to the host
}

// held answers how many bytes are in the pipe.
func held(conn syscall.RawConn) (n int) {
	if err := conn.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); err != nil {
		return 0
	}
	return n
}

// move sends n bytes of the pipe, which are there, or with a negative n whatever
// comes until its end or deadline.
func (o *output) move(conn syscall.RawConn, n int) error {
	for n != 0 {
		want := wire.MaxChunk
		if n > 0 {
			want = min(want, n)
		}
		room, err := o.call.Room(o.stream, want, o.call.Cancelled())
		if err != nil {
			return err
		}
		moved, err := o.part(conn, room, n < 0)
		if err != nil {
			return err
		}
		if n > 0 {
			n -= moved
		} else if moved >= usualPipe && !o.wide {
			o.widen(conn)
		}
	}
	return nil
}

// part moves what is there, at most room bytes, and holds no buffer while it waits
// for the first of them.
func (o *output) part(conn syscall.RawConn, room int, wait bool) (n int, err error) {
	var chunk *serve.Chunk
	waitErr := conn.Read(func(fd uintptr) bool {
		chunk = serve.NewChunk()
		n, err = readThere(int(fd), chunk.Payload(room))
		if n == 0 && errors.Is(err, unix.EAGAIN) && wait {
			chunk.Free()
			chunk = nil
			return false
		}
		return true
	})
	if chunk == nil {
		return 0, waitErr
	}
	defer chunk.Free()
	switch {
	case waitErr != nil:
		return 0, waitErr
	case n == 0:
		return 0, err
	}
	return n, o.call.Send(o.stream, chunk, n) // what ended the reading ends the next, too
}

// readThere reads until b is full, nothing is there or nothing will be: a program
// that writes little by little is not answered with a frame each time.
func readThere(fd int, b []byte) (n int, err error) {
	for n < len(b) {
		m, err := retry(func() (int, error) { return unix.Read(fd, b[n:]) })
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, io.EOF
		}
		n += m
	}
	return n, nil
}
