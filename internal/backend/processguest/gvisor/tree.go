package gvisor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
)

// Tree is a sandbox's file system as gVisor is told of it: a directory that holds
// the small files, the links and the mount points, and what is mounted there.
type Tree struct {
	Views   []View
	Scratch []Scratch
	// Socket: one of the views is a Unix socket that the guest may connect to.
	Socket bool
}

// Lay makes the tree of a view in root, which is empty. Inode limits are the one
// thing that it cannot hand on: runsc passes none to its file systems in memory,
// so the sandbox's memory limit bounds those as it bounds everything.
//
// The guest's /proc and /dev are gVisor's own. What the view has there is left
// out if gVisor has it too, or if it covers what gVisor does not have.
func Lay(root string, v view.View) (Tree, error) {
	var t Tree
	for _, e := range v {
		if err := t.add(root, e); err != nil {
			return Tree{}, fmt.Errorf("lay out the sandbox's file system: %w", err)
		}
	}
	// The directory that process 1 says it stands in.
	return t, directory(root, path.Dir(view.Agent))
}

func (t *Tree) add(root string, e view.Entry) error {
	if !isClean(e.Path) || e.Path == "/" {
		return errors.New("an entry without a place")
	}
	if gVisors(e) {
		return nil
	}
	switch e.Kind {
	case view.Show:
		return t.show(root, e)
	case view.ShowSocket:
		t.Socket = true
		return t.show(root, e)
	case view.Copy:
		return copyFile(root, e)
	case view.File:
		return writeFile(root, e.Path, e.Mode, strings.NewReader(string(e.Content)))
	case view.Link:
		at, err := parent(root, e.Path)
		if err != nil {
			return err
		}
		return os.Symlink(e.Source, at)
	case view.Memory:
		if e.Sealed {
			return errors.New("a sealed file system in memory outside /dev and /proc")
		}
		t.Scratch = append(t.Scratch, Scratch{Destination: e.Path, Bytes: e.Bytes, Mode: 0o700})
		return directory(root, e.Path)
	}
	return errors.New("an entry of no known kind, or one that gVisor has no place for")
}

// gVisors reports what gVisor's own /proc and /dev take the place of.
func gVisors(e view.Entry) bool {
	if e.Path == "/proc" {
		return e.Kind == view.Processes
	}
	if e.Path == "/dev" {
		return e.Kind == view.Memory && e.Sealed
	}
	if view.Within(e.Path, "/proc") {
		covers := e.Kind == view.Memory && e.Sealed || e.Kind == view.ShowDevice && e.Source == "/dev/null"
		return covers
	}
	if path.Dir(e.Path) != "/dev" {
		return false
	}
	switch path.Base(e.Path) {
	case "null", "zero", "full", "random", "urandom":
		return e.Kind == view.ShowDevice && e.Source == e.Path
	case "fd", "stdin", "stdout", "stderr":
		return e.Kind == view.Link
	}
	return false
}

// show mounts a file or directory of the host. A link on the way to it is
// resolved now, by us, and not by a program that runs later.
func (t *Tree) show(root string, e view.Entry) error {
	source, err := filepath.EvalSymlinks(e.Source)
	if err != nil {
		return err
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	t.Views = append(t.Views, View{Source: source, Destination: e.Path})
	if info.IsDir() {
		return directory(root, e.Path)
	}
	return writeFile(root, e.Path, 0o444, strings.NewReader(""))
}

func copyFile(root string, e view.Entry) error {
	from, err := os.Open(e.Source)
	if err != nil {
		return err
	}
	defer from.Close()
	return writeFile(root, e.Path, e.Mode, from)
}

func writeFile(root, name string, mode uint32, content io.Reader) error {
	at, err := parent(root, name)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(fs.FileMode(mode).Perm()), f.Close())
}

// parent makes the directories above a place in the tree, and answers the place.
func parent(root, name string) (string, error) {
	return filepath.Join(root, name), directory(root, path.Dir(name))
}

// directory makes a directory of the tree and those above it, for everybody to
// enter whatever this process' umask is.
func directory(root, name string) error {
	if name == "/" {
		return nil
	}
	if err := directory(root, path.Dir(name)); err != nil {
		return err
	}
	at := filepath.Join(root, name)
	err := os.Mkdir(at, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, os.Chmod(at, 0o755))
}
