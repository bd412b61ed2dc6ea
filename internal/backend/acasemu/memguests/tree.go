package memguests

import (
	"io/fs"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// node is one thing in a guest's file system. mode says of which kind.
type node struct {
	mode     fs.FileMode
	user     string // who owns it; empty is root
	data     []byte
	target   string
	children map[string]*node
	modified time.Time
	// volume marks where one begins: it is not the guest's own.
	volume bool
}

func directory(now time.Time, mode fs.FileMode) *node {
	return &node{mode: fs.ModeDir | mode, children: map[string]*node{}, modified: now}
}

// base is the root of every image.
func base(now time.Time) *node {
	root := directory(now, 0o755)
	for name, mode := range map[string]fs.FileMode{"bin": 0o755, "etc": 0o755, "home": 0o755, "root": 0o700, "tmp": 0o777, "usr": 0o755, "var": 0o755} {
		root.children[name] = directory(now, mode)
	}
	root.children["etc"].children["passwd"] = &node{mode: 0o644, data: []byte("root:x:0:0:root:/root:/bin/sh\n"), modified: now}
	return root
}

// clone copies a tree; volumes become empty directories.
func (n *node) clone() *node {
	copied := *n
	copied.data = append([]byte(nil), n.data...)
	copied.volume = false
	copied.children = maps.Clone(n.children)
	for name, child := range copied.children {
		if n.volume {
			delete(copied.children, name)
			continue
		}
		copied.children[name] = child.clone()
	}
	return &copied
}

func (n *node) bytes() int64 {
	total := int64(len(n.data))
	for _, child := range n.children {
		if !child.volume {
			total += child.bytes()
		}
	}
	return total
}

func (n *node) file(name string) acasemu.File {
	return acasemu.File{Name: name, Mode: n.mode, Size: int64(len(n.data)), Target: n.target, Modified: n.modified}
}

// tree is a guest's file system.
type tree struct {
	root *node
	most int64
	now  func() time.Time
}

// maxLinks is how many links one path may lead through.
const maxLinks = 40

// walk finds what stands at a path, and the directory that it stands in. Links are
// followed in every component but the last, and there too when follow says so. What
// is missing at the end is a nil node with its directory and name.
func (t *tree) walk(p string, follow bool) (at, parent *node, name string, err error) {
	var stack []*node
	at, links := t.root, 0
	rest := split(p)
	for len(rest) > 0 {
		name, rest = rest[0], rest[1:]
		if name == "." {
			continue
		}
		if at == nil {
			return nil, nil, "", engine.ErrNotExist
		}
		if !at.mode.IsDir() {
			return nil, nil, "", engine.ErrNotDirectory
		}
		if name == ".." {
			if len(stack) > 0 {
				at, stack = stack[len(stack)-1], stack[:len(stack)-1]
			}
			continue
		}
		child := at.children[name]
		if child != nil && child.mode&fs.ModeSymlink != 0 && (len(rest) > 0 || follow) {
			if links++; links > maxLinks {
				return nil, nil, "", engine.ErrThroughLink
			}
			rest = append(split(child.target), rest...)
			if path.IsAbs(child.target) {
				at, stack = t.root, nil
			}
			continue
		}
		stack = append(stack, at)
		at = child
	}
	if len(stack) > 0 {
		parent = stack[len(stack)-1]
	}
	return at, parent, name, nil
}

func split(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

// find is what stands at a path.
func (t *tree) find(p string, follow bool) (*node, error) {
	at, _, _, err := t.walk(p, follow)
	if err == nil && at == nil {
		err = engine.ErrNotExist
	}
	return at, err
}

// makeDirs makes the directories of a path that are missing.
func (t *tree) makeDirs(p, user string) (*node, error) {
	at := ""
	last := t.root
	for _, part := range split(p) {
		at += "/" + part
		found, parent, name, err := t.walk(at, true)
		if err != nil {
			return nil, err
		}
		if found == nil {
			if err := parent.admits(user); err != nil {
				return nil, err
			}
			found = directory(t.now(), 0o755)
			found.user = user
			parent.children[name] = found
		}
		if !found.mode.IsDir() {
			return nil, engine.ErrNotDirectory
		}
		last = found
	}
	return last, nil
}

// admits reports why a user may not make or remove something in a directory.
func (n *node) admits(user string) error {
	if user == "" || user == n.user || n.mode.Perm()&0o002 != 0 {
		return nil
	}
	return engine.ErrPermission
}

// write puts a file at a path, for a user; the empty one is root.
func (t *tree) write(p, user string, data []byte, mode *fs.FileMode) error {
	found, parent, name, err := t.walk(p, true)
	switch {
	case err != nil:
		return err
	case found != nil && found.mode.IsDir():
		return engine.ErrIsDirectory
	case found != nil && !found.mode.IsRegular():
		return engine.ErrNotRegular
	case found == nil && parent == nil:
		return engine.ErrNotExist
	case int64(len(data)) > t.most-t.root.bytes():
		return engine.ErrNoSpace
	}
	if found == nil {
		if err := parent.admits(user); err != nil {
			return err
		}
		found = &node{mode: 0o644, user: user}
		parent.children[name] = found
	} else if user != "" && user != found.user && found.mode.Perm()&0o002 == 0 {
		return engine.ErrPermission
	}
	found.data, found.modified = data, t.now()
	if mode != nil {
		found.mode = mode.Perm()
	}
	return nil
}

// remove removes what stands at a path, a link as a link.
func (t *tree) remove(p, user string, recursive bool) error {
	found, parent, name, err := t.walk(p, false)
	switch {
	case err != nil:
		return err
	case found == nil:
		return engine.ErrNotExist
	case parent == nil || found.volume:
		return engine.ErrPermission
	case found.mode.IsDir() && len(found.children) > 0 && !recursive:
		return engine.ErrIsDirectory
	}
	if err := parent.admits(user); err != nil {
		return err
	}
	delete(parent.children, name)
	return nil
}

// mount puts a volume at a path.
func (t *tree) mount(volume *node, m acasemu.Mount) error {
	parent, err := t.makeDirs(path.Dir(m.Path), "")
	if err != nil {
		return err
	}
	at := *volume // the directory is the guest's, its children are everybody's
	at.volume = true
	parent.children[path.Base(m.Path)] = &at
	return nil
}
