// Package memfs is the file system of one wasm sandbox: a tree of directories
// and regular files in memory, with caps on bytes and entries. It has no links,
// no devices, no owners and no modes, and it never touches the host's disk, so
// there is nothing to escape to.
//
// Read [FS] for the caps, [Dir] for operations on paths and [File] for open
// files. All methods are safe for concurrent use.
package memfs

import (
	"errors"
	"strings"
	"sync"
	"time"
)

// The ways in which an operation fails, for errors.Is.
var (
	ErrNotExist     = errors.New("no such file or directory")
	ErrExist        = errors.New("file exists")
	ErrNotDirectory = errors.New("not a directory")
	ErrIsDirectory  = errors.New("is a directory")
	ErrNotEmpty     = errors.New("directory is not empty")
	ErrNoSpace      = errors.New("no space left")
	ErrNameTooLong  = errors.New("name is too long")
	ErrInvalid      = errors.New("invalid argument")
	ErrOutside      = errors.New("path leaves its directory")
	ErrClosed       = errors.New("file is closed or not open for this")
)

const (
	// maxName bounds one component and maxPath one path, in bytes.
	maxName = 255
	maxPath = 4096
)

// Limits cap one file system. A file that was removed while it is open counts
// until it is closed.
type Limits struct {
	// Bytes caps the content of all files together, FileBytes that of one file.
	Bytes, FileBytes int64
	// Entries caps files and directories together, the root not counted.
	Entries int
}

// FS is one file system. Make it with [New].
type FS struct {
	limits Limits
	now    func() time.Time

	mu      sync.Mutex
	root    *node
	bytes   int64
	entries int
	inodes  uint64
}

// node is one file or directory. Its fields are guarded by FS.mu.
type node struct {
	ino      uint64
	parent   *node // nil for the root and for what was removed
	name     string
	children map[string]*node // nil for a file
	data     []byte
	shared   bool // data is also held by a snapshot: copy before writing
	modified time.Time
	open     int
	removed  bool
}

func (n *node) isDir() bool { return n.children != nil }

// New makes an empty file system. now tells the time for modification times.
func New(limits Limits, now func() time.Time) *FS {
	fs := &FS{limits: limits, now: now}
	fs.root = &node{children: map[string]*node{}, modified: now()}
	return fs
}

// Root is the file system's root directory.
func (fs *FS) Root() Dir { return Dir{fs, fs.root} }

// Usage says how much is held now.
type Usage struct {
	Bytes   int64
	Entries int
}

// Usage answers what counts against the caps at this moment.
func (fs *FS) Usage() Usage {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return Usage{Bytes: fs.bytes, Entries: fs.entries}
}

// Info describes a file or a directory. Size is 0 for a directory.
type Info struct {
	Name     string
	Dir      bool
	Size     int64
	Inode    uint64
	Modified time.Time
}

func (n *node) info() Info {
	return Info{Name: n.name, Dir: n.isDir(), Size: int64(len(n.data)), Inode: n.ino, Modified: n.modified}
}

// place is where a path leads: a directory, the last component's name in it, and
// what stands there, nil for nothing. name is empty when the path is the
// directory that the walk started from or one it came back to by "..".
type place struct {
	parent *node
	name   string
	node   *node
}

// walk follows path from base. Dot segments are resolved against the tree;
// leaving base by them is [ErrOutside], also where it would come back.
func (fs *FS) walk(base *node, path string) (place, error) {
	switch {
	case len(path) > maxPath:
		return place{}, ErrNameTooLong
	case path == "" || strings.IndexByte(path, 0) >= 0:
		return place{}, ErrInvalid
	case path[0] == '/':
		return place{}, ErrOutside
	}
	at := place{node: base}
	for part := range strings.SplitSeq(path, "/") {
		if at.node == nil {
			// Only trailing slashes may follow what is not there.
			if part != "" {
				return place{}, ErrNotExist
			}
			continue
		}
		if !at.node.isDir() {
			return place{}, ErrNotDirectory
		}
		switch part {
		case "", ".":
		case "..":
			if at.node == base {
				return place{}, ErrOutside
			}
			at = place{node: at.node.parent}
			if at.node == nil {
				return place{}, ErrNotExist
			}
		default:
			if len(part) > maxName {
				return place{}, ErrNameTooLong
			}
			at = place{parent: at.node, name: part, node: at.node.children[part]}
		}
	}
	if at.node == nil && at.parent.removed {
		return place{}, ErrNotExist
	}
	return at, nil
}

// find is walk to something that must be there.
func (fs *FS) find(base *node, path string) (*node, error) {
	at, err := fs.walk(base, path)
	if err != nil {
		return nil, err
	}
	if at.node == nil {
		return nil, ErrNotExist
	}
	return at.node, nil
}

// add makes a node at a place where nothing stands.
func (fs *FS) add(at place, dir bool) (*node, error) {
	if fs.entries >= fs.limits.Entries {
		return nil, ErrNoSpace
	}
	fs.inodes++
	n := &node{ino: fs.inodes, parent: at.parent, name: at.name, modified: fs.now()}
	if dir {
		n.children = map[string]*node{}
	}
	fs.entries++
	at.parent.children[at.name] = n
	at.parent.modified = n.modified
	return n, nil
}

// unlink takes a node out of its directory and, unless it is still open, gives
// back what it held. Children of a directory must be gone.
func (fs *FS) unlink(n *node) {
	delete(n.parent.children, n.name)
	n.parent.modified = fs.now()
	n.parent, n.removed = nil, true
	fs.free(n)
}

func (fs *FS) free(n *node) {
	if !n.removed || n.open > 0 {
		return
	}
	fs.bytes -= int64(len(n.data))
	fs.entries--
	n.data = nil
}

// resize sets the length of a file within the caps. What is new reads as zero.
func (fs *FS) resize(n *node, size int64) error {
	old := int64(len(n.data))
	if size > old && (size > fs.limits.FileBytes || size-old > fs.limits.Bytes-fs.bytes) {
		return ErrNoSpace
	}
	switch {
	case size == 0:
		n.data, n.shared = nil, false
	case n.shared || size <= int64(cap(n.data))/2 || size > int64(cap(n.data)):
		// A quarter of slack when growing keeps appending linear.
		room := size
		if size > old && old > 0 {
			room = min(size+size/4, max(size, fs.limits.FileBytes))
		}
		data := make([]byte, size, room)
		copy(data, n.data)
		n.data, n.shared = data, false
	case size > old:
		n.data = n.data[:size]
		clear(n.data[old:])
	default:
		n.data = n.data[:size]
	}
	fs.bytes += size - old
	n.modified = fs.now()
	return nil
}

// writeAt writes all of p or nothing.
func (fs *FS) writeAt(n *node, p []byte, off int64) error {
	if off < 0 || off > fs.limits.FileBytes {
		if off < 0 {
			return ErrInvalid
		}
		return ErrNoSpace
	}
	if len(p) == 0 {
		return nil
	}
	end := off + int64(len(p))
	if end > int64(len(n.data)) || n.shared {
		if err := fs.resize(n, max(end, int64(len(n.data)))); err != nil {
			return err
		}
	}
	copy(n.data[off:end], p)
	n.modified = fs.now()
	return nil
}
