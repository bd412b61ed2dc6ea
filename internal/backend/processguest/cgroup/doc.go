// Package cgroup bounds what a sandbox uses of memory, processes and CPU, and
// finds and ends whatever still runs in one. It speaks version 1, version 2 and
// hybrids of both, through the file system that the kernel offers; it never
// moves a process that it did not start, except the calling thread in and out of
// a group while it starts one.
//
// The three groups are nested: a [Place] is where this process may make groups,
// a [Host] is one host's own group there, and a [Group] is one sandbox's. What a
// host that died has left is found by the directories of its Host and removed
// with [Reap].
//
// The kept library for this speaks to systemd over D-Bus and loads eBPF; the
// handful of writes below needs neither.
package cgroup

// Limits bound one sandbox. Each must be positive.
type Limits struct {
	// MemoryBytes bounds all memory, that of files in the sandbox's tmpfs and of
	// the kernel on its behalf included. There is no swap beside it.
	MemoryBytes int64
	// Processes bounds processes and threads together.
	Processes int64
	// CPUPercent is processor time: 100 is one processor's whole time. Zero is no
	// bound.
	CPUPercent int64
}
