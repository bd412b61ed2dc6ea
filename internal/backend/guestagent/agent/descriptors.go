//go:build linux

package agent

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// The frame pipes are moved away from where programs look for their streams.
const (
	fdIn  = 100
	fdOut = 101
	// fdLimit is above what an older kernel lets a process open by default.
	fdLimit = 1024
)

// takePipes takes the frame pipes from standard input and output, leaves nothing
// in their place and makes sure that no descriptor is inherited by a program.
func takePipes() (in, out *os.File, err error) {
	closeOnExec()
	nothing, err := openNothing()
	if err != nil {
		return nil, nil, err
	}
	for _, move := range []struct{ from, to int }{{0, fdIn}, {1, fdOut}} {
		if err := unix.Dup3(move.from, move.to, unix.O_CLOEXEC); err != nil {
			return nil, nil, err
		}
		if err := unix.SetNonblock(move.to, true); err != nil {
			return nil, nil, err
		}
	}
	for fd := range 3 {
		if err := unix.Dup3(nothing, fd, unix.O_CLOEXEC); err != nil {
			return nil, nil, err
		}
	}
	return os.NewFile(fdIn, "frames in"), os.NewFile(fdOut, "frames out"), unix.Close(nothing)
}

// closeOnExec is for what the engine may have left open.
func closeOnExec() {
	if unix.CloseRange(0, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for fd := range fdLimit { // before Linux 5.11
		unix.CloseOnExec(fd)
	}
}

// openNothing opens something that nothing can be read from or written to and
// that every guest has.
func openNothing() (int, error) {
	return unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
}
