package memfs

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// Dir is a directory to start paths from. Paths are relative and separated by
// slashes; "." is the directory itself. A path that would leave it is
// [ErrOutside].
type Dir struct {
	fs   *FS
	node *node
}

// Stat describes what stands at path.
func (d Dir) Stat(path string) (Info, error) {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	n, err := d.fs.find(d.node, path)
	if err != nil {
		return Info{}, err
	}
	return n.info(), nil
}

// Dir is the directory at path. Removing it from the tree leaves the value
// usable: everything in it is then not there.
func (d Dir) Dir(path string) (Dir, error) {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	n, err := d.fs.find(d.node, path)
	if err != nil {
		return Dir{}, err
	}
	if !n.isDir() {
		return Dir{}, ErrNotDirectory
	}
	return Dir{d.fs, n}, nil
}

// List describes the children of the directory at path, sorted by name.
func (d Dir) List(path string) ([]Info, error) {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	n, err := d.fs.find(d.node, path)
	if err != nil {
		return nil, err
	}
	if !n.isDir() {
		return nil, ErrNotDirectory
	}
	infos := make([]Info, 0, len(n.children))
	for _, child := range n.children {
		infos = append(infos, child.info())
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// Mkdir makes one directory. Something at path already is [ErrExist].
func (d Dir) Mkdir(path string) error {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	at, err := d.fs.walk(d.node, path)
	if err != nil {
		return err
	}
	if at.node != nil {
		return ErrExist
	}
	_, err = d.fs.add(at, true)
	return err
}

// MkdirAll makes the directory at path and those above it that are missing.
func (d Dir) MkdirAll(path string) error {
	for i := range len(path) + 1 {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if err := d.Mkdir(path[:i]); errors.Is(err, ErrExist) {
			if info, err := d.Stat(path[:i]); err != nil {
				return err
			} else if !info.Dir {
				return ErrNotDirectory
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Replace makes data the content of the file at path in one step; the parent
// exists. The file system keeps data. On an error what stood there still stands.
func (d Dir) Replace(path string, data []byte) error {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	at, err := d.fs.walk(d.node, path)
	if err != nil {
		return err
	}
	size, old := int64(len(data)), int64(0)
	if at.node != nil {
		if at.node.isDir() {
			return ErrIsDirectory
		}
		old = int64(len(at.node.data))
	} else if strings.HasSuffix(path, "/") {
		return ErrIsDirectory
	}
	if size > d.fs.limits.FileBytes || size-old > d.fs.limits.Bytes-d.fs.bytes {
		return ErrNoSpace
	}
	if at.node == nil {
		if at.node, err = d.fs.add(at, false); err != nil {
			return err
		}
	}
	at.node.data, at.node.shared, at.node.modified = data, false, d.fs.now()
	d.fs.bytes += size - old
	return nil
}

// Snapshot is the content of the file at path at this moment. Later writes to
// the file do not show in it. The caller must not change it.
func (d Dir) Snapshot(path string) ([]byte, Info, error) {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	n, err := d.fs.find(d.node, path)
	if err != nil {
		return nil, Info{}, err
	}
	if n.isDir() {
		return nil, Info{}, ErrIsDirectory
	}
	n.shared = true
	return slices.Clip(n.data), n.info(), nil
}

// Remove removes the file at path; a directory is [ErrIsDirectory].
func (d Dir) Remove(path string) error {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	n, err := d.fs.find(d.node, path)
	if err != nil {
		return err
	}
	if n.isDir() {
		return ErrIsDirectory
	}
	d.fs.unlink(n)
	return nil
}

// Rmdir removes the empty directory at path. The directory that the path starts
// from, and the root, are [ErrInvalid].
func (d Dir) Rmdir(path string) error {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	n, err := d.fs.find(d.node, path)
	switch {
	case err != nil:
		return err
	case !n.isDir():
		return ErrNotDirectory
	case n == d.node || n.parent == nil:
		return ErrInvalid
	case len(n.children) > 0:
		return ErrNotEmpty
	}
	d.fs.unlink(n)
	return nil
}

// RemoveAll removes what stands at path and everything below it. The directory
// that the path starts from, and the root, are [ErrInvalid].
func (d Dir) RemoveAll(path string) error {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	n, err := d.fs.find(d.node, path)
	if err != nil {
		return err
	}
	if n == d.node || n.parent == nil {
		return ErrInvalid
	}
	// Depth is bounded by the entries of the file system, so an explicit stack
	// keeps a deep tree off the goroutine's.
	order := []*node{n}
	for i := 0; i < len(order); i++ {
		for _, child := range order[i].children {
			order = append(order, child)
		}
	}
	for _, gone := range slices.Backward(order) {
		d.fs.unlink(gone)
	}
	return nil
}

// Rename moves what stands at from to the path to below another directory. A
// file replaces a file, and a directory an empty directory.
func (d Dir) Rename(from string, target Dir, to string) error {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	n, err := d.fs.find(d.node, from)
	if err != nil {
		return err
	}
	at, err := d.fs.walk(target.node, to)
	if err != nil {
		return err
	}
	if n.parent == nil || n == d.node || at.name == "" {
		return ErrInvalid
	}
	if at.node == n {
		return nil
	}
	for up := at.parent; up != nil; up = up.parent {
		if up == n {
			return ErrInvalid
		}
	}
	if err := replaceable(n, at, to); err != nil {
		return err
	}
	if at.node != nil {
		d.fs.unlink(at.node)
	}
	delete(n.parent.children, n.name)
	n.parent.modified = d.fs.now()
	n.parent, n.name = at.parent, at.name
	at.parent.children[at.name] = n
	at.parent.modified = d.fs.now()
	return nil
}

func replaceable(n *node, at place, to string) error {
	switch {
	case !n.isDir() && strings.HasSuffix(to, "/"):
		return ErrNotDirectory
	case at.node == nil:
		return nil
	case n.isDir() && !at.node.isDir():
		return ErrNotDirectory
	case !n.isDir() && at.node.isDir():
		return ErrIsDirectory
	case len(at.node.children) > 0:
		return ErrNotEmpty
	}
	return nil
}

// SetModified sets the modification time of what stands at path.
func (d Dir) SetModified(path string, t time.Time) error {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	n, err := d.fs.find(d.node, path)
	if err != nil {
		return err
	}
	n.modified = t
	return nil
}
