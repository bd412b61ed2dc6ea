//go:build linux

package agent

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ownProc reports whether /proc is of this process' own namespace: in another's,
// a program's number is somebody else's.
func ownProc() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// offerToKiller makes the program, and what it starts, go before the agent and
// before anything of the host when memory runs out. It is a preference, not a
// bound: where the kernel or the guest declines, nothing depends on it.
func (a *Agent) offerToKiller(pid int) {
	if !a.ownProc {
		return
	}
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	_, _ = unix.Write(fd, []byte("1000"))
	_ = unix.Close(fd)
}
