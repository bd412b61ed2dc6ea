package launch

import (
	"golang.org/x/sys/unix"
)

// Limits are what the kernel holds each process of a sandbox to by itself, beside
// those that the agent lowers itself. They bound mistakes; what bounds a sandbox is
// its cgroup.
type Limits struct {
	// DataBytes bounds the private memory of one process, FileBytes one file,
	// Processes the processes and threads of the sandbox's user. Zero is no bound.
	DataBytes, FileBytes, Processes int64
}

// openFiles is what the agent lowers itself to, for a runtime that is told before.
const openFiles = 4096

// apply sets the limits of process 1, which every later process inherits and
// none can raise. A host without the right to, such as root in a container that
// has dropped to another user, cannot; limited says whether it could.
func (l Limits) apply(pid int) (limited bool) {
	for resource, most := range map[int]int64{
		unix.RLIMIT_DATA:  l.DataBytes,
		unix.RLIMIT_FSIZE: l.FileBytes,
		unix.RLIMIT_NPROC: l.Processes,
	} {
		if most == 0 {
			continue
		}
		limit := unix.Rlimit{Cur: uint64(most), Max: uint64(most)}
		var now unix.Rlimit
		if unix.Prlimit(pid, resource, nil, &now) == nil {
			limit.Max = min(limit.Max, now.Max)
			limit.Cur = min(limit.Cur, limit.Max)
		}
		if unix.Prlimit(pid, resource, &limit, nil) != nil {
			return false
		}
	}
	return true
}
