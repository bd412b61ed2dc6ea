package view

import (
	"path"
	"slices"
)

// MakeRoot puts the view of a guest with a root of its own together: base, which
// is what is shown of the host and may be nothing, and what every such guest has
// beside its root file system. What else it has, it is sent.
func MakeRoot(base View, sharedBytes int64) View {
	v := slices.Clone(base)
	// Process 1 would be its root's to change there, and so would what the kernel
	// lets a namespace's root set. Nobody writes to it at all, the agent included:
	// programs then do not go before it when memory runs out, only by their size.
	v = append(v, Entry{Kind: Processes, Path: "/proc", Sealed: true})
	v = append(v, maskedProc()...)
	v = append(v, devices()...)
	v = append(v, Entry{Kind: Memory, Path: "/dev/shm", Bytes: sharedBytes, Shared: true})
	return append(above(v), v...)
}

// above are the directories that the entries stand in, but for those that others
// of them bring. A launcher that had to make them would make them for its user
// alone, and there are two.
func above(v View) View {
	made := map[string]bool{"/": true}
	for _, e := range v {
		made[e.Path] = true
	}
	var dirs View
	var add func(dir string)
	add = func(dir string) {
		if made[dir] {
			return
		}
		add(path.Dir(dir))
		made[dir] = true
		dirs = append(dirs, Entry{Kind: Directory, Path: dir})
	}
	for _, e := range append(slices.Clone(v), Entry{Path: Agent}) {
		add(path.Dir(e.Path))
	}
	return dirs
}
