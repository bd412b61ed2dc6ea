package view

import "slices"

// MakeRoot puts the view of a guest with a root of its own together: base, which
// is what is shown of the host and may be nothing, and what every such guest has
// beside its root file system. What else it has, it is sent.
func MakeRoot(base View, sharedBytes int64) View {
	v := slices.Clone(base)
	v = append(v, Entry{Kind: Processes, Path: "/proc"})
	v = append(v, maskedProc()...)
	v = append(v, devices()...)
	return append(v, Entry{Kind: Memory, Path: "/dev/shm", Bytes: sharedBytes, Shared: true})
}
