//go:build linux

package agent

import "golang.org/x/sys/unix"

// limits are what the guest's processes inherit and none can raise: of what the
// kernel counts by user and shares out among all of a user's sandboxes; of
// descriptors, since it holds more behind each than it counts as memory; and of
// cores, where one byte is less than any and the one limit at which the kernel
// does not hand a core to a program of the host either.
var limits = map[int]uint64{
	unix.RLIMIT_NOFILE:     4096,
	unix.RLIMIT_MEMLOCK:    64 << 10,
	unix.RLIMIT_CORE:       1,
	unix.RLIMIT_SIGPENDING: 1024,
	unix.RLIMIT_MSGQUEUE:   96 << 10, // a queue of the usual size
}

// lowerLimits lowers them where they are higher. Who launches the agent may not be
// able to: it takes a capability that root in a container seldom has. A kernel of
// another kind may not know a limit, and then shares nothing by it.
func lowerLimits() {
	for resource, most := range limits {
		var now unix.Rlimit
		if unix.Getrlimit(resource, &now) != nil {
			continue
		}
		most = min(most, now.Max)
		_ = unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most})
	}
}
