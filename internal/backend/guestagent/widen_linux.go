package guestagent

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize lets several chunks be on their way, so that neither side waits for
// the other's every turn.
const pipeSize = 1 << 20

// widen makes a pipe hold more, where it is one and the kernel lets this user.
func widen(end any) {
	f, ok := end.(*os.File)
	if !ok {
		return
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	// Without it transfers are slower and nothing else.
	_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}
