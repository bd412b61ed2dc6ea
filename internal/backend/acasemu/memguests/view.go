package memguests

import (
	"io/fs"
	"path"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// View is a guest's files as its programs see them: with the rights of the image's
// user, and no others.
type View struct {
	guest *guest
	user  string
}

func (v *View) with(f func(*tree) error) error {
	v.guest.mu.Lock()
	defer v.guest.mu.Unlock()
	if v.guest.gone {
		return engine.ErrGone
	}
	return f(v.guest.tree)
}

// User is whom the programs run as; empty is root.
func (v *View) User() string { return v.user }

// Read is the content of a file.
func (v *View) Read(p string) (data []byte, err error) {
	err = v.with(func(t *tree) error {
		n, err := t.find(p, true)
		switch {
		case err != nil:
			return err
		case !n.mode.IsRegular():
			return engine.ErrNotRegular
		case v.user != "" && v.user != n.user && n.mode.Perm()&0o004 == 0:
			return engine.ErrPermission
		}
		data = slices.Clone(n.data)
		return nil
	})
	return data, err
}

// Write replaces a file.
func (v *View) Write(p string, data []byte) error {
	return v.with(func(t *tree) error { return t.write(p, v.user, slices.Clone(data), nil) })
}

// Mkdir makes a directory and those above it.
func (v *View) Mkdir(p string) error {
	return v.with(func(t *tree) error {
		_, err := t.makeDirs(p, v.user)
		return err
	})
}

// Remove removes what stands at a path, and all in it.
func (v *View) Remove(p string) error {
	return v.with(func(t *tree) error { return t.remove(p, v.user, true) })
}

// Link makes a symbolic link.
func (v *View) Link(target, p string) error {
	return v.plant(p, &node{mode: fs.ModeSymlink | 0o777, target: target})
}

// Pipe makes a named pipe.
func (v *View) Pipe(p string) error { return v.plant(p, &node{mode: fs.ModeNamedPipe | 0o644}) }

func (v *View) plant(p string, n *node) error {
	return v.with(func(t *tree) error {
		parent, err := t.find(path.Dir(p), true)
		if err != nil {
			return err
		}
		if !parent.mode.IsDir() {
			return engine.ErrNotDirectory
		}
		if err := parent.admits(v.user); err != nil {
			return err
		}
		n.user, n.modified = v.user, t.now()
		parent.children[path.Base(p)] = n
		return nil
	})
}
