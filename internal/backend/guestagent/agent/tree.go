//go:build linux

package agent

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// Nothing on the way to a file may be a link, from "/" on, so that no path leads
// anywhere but where its text says. A clean path without links cannot leave the
// directory it lies in, whichever that is.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// tree resolves paths from the guest's root directory. Mounts are crossed: only
// the engine makes them, and the work directory is one.
type tree struct {
	root int // "/", by O_PATH
	// walks: the kernel has no openat2, as gVisor has not, and the path is gone
	// down one directory at a time with the same outcome.
	walks bool
	// follows: links lead the way to a path's last component, as the guest's own
	// programs are led; only those of /proc that lead to what a process holds are
	// refused, since that process would be this one.
	follows bool
}

// treeFor is the tree as the operation wants it resolved.
func (a *Agent) treeFor(f wire.File) tree {
	t := a.tree
	t.follows = f.Follow
	return t
}

func openTree() (tree, error) {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return tree{}, err
	}
	t := tree{root: root}
	fd, err := t.open("/", unix.O_PATH)
	t.walks = err != nil
	if !t.walks {
		_ = unix.Close(fd)
	}
	return t, nil
}

// relative makes an absolute, clean path one below "/". The host sends no other.
func relative(path string) (string, error) {
	if path == "/" {
		return ".", nil
	}
	rest, ok := strings.CutPrefix(path, "/")
	if !ok || strings.Contains(path, "\x00") {
		return "", unix.EINVAL
	}
	for name := range strings.SplitSeq(rest, "/") {
		if name == "" || name == "." || name == ".." {
			return "", unix.EINVAL
		}
	}
	return rest, nil
}

// open opens what stands at the path with those flags, its last component not
// followed either.
func (t tree) open(path string, flags int) (fd int, err error) {
	return t.openLast(path, flags|unix.O_NOFOLLOW)
}

func (t tree) openLast(path string, flags int) (fd int, err error) {
	rest, err := relative(path)
	if err != nil {
		return -1, err
	}
	flags |= unix.O_CLOEXEC
	fd, err = t.resolve(rest, flags)
	if errors.Is(err, unix.ENOTDIR) && flags&unix.O_DIRECTORY != 0 {
		return -1, t.whyNoDirectory(rest)
	}
	return fd, err
}

func (t tree) resolve(rest string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: beneath}
	switch {
	case t.follows && t.walks:
		return -1, unix.ENOSYS
	case t.follows:
		how.Resolve = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS
	case t.walks:
		return t.walk(rest, flags)
	}
	return retry(func() (int, error) { return unix.Openat2(t.root, rest, &how) })
}

// whyNoDirectory tells a link from anything else where a directory was to be: the
// kernel calls one in the last place "not a directory".
func (t tree) whyNoDirectory(rest string) error {
	fd, err := t.resolve(rest, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := passable(fd); err != nil {
		return err
	}
	return unix.ENOTDIR // it was none a moment ago
}

func (t tree) walk(rest string, flags int) (int, error) {
	dir := t.root
	for {
		name, below, more := strings.Cut(rest, "/")
		if !more {
			fd, err := openat(dir, name, flags)
			t.leave(dir)
			return fd, err
		}
		next, err := openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
		t.leave(dir)
		if err != nil {
			return -1, err
		}
		if err := passable(next); err != nil {
			_ = unix.Close(next)
			return -1, err
		}
		dir, rest = next, below
	}
}

func (t tree) leave(dir int) {
	if dir != t.root {
		_ = unix.Close(dir)
	}
}

// passable fails as openat2 does for what is no directory.
func passable(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return nil
	case unix.S_IFLNK:
		return unix.ELOOP
	default:
		return unix.ENOTDIR
	}
}

// parent opens the directory that holds the path's last component. "/" has none,
// which is EBUSY.
func (t tree) parent(path string) (dir int, name string, err error) {
	if path == "/" {
		return -1, "", unix.EBUSY
	}
	at := strings.LastIndexByte(path, '/')
	if at < 0 || at == len(path)-1 {
		return -1, "", unix.EINVAL
	}
	name = path[at+1:]
	if _, err := relative("/" + name); err != nil {
		return -1, "", err
	}
	flags := unix.O_PATH | unix.O_DIRECTORY
	if !t.follows {
		flags |= unix.O_NOFOLLOW
	}
	dir, err = t.openLast(path[:max(at, 1)], flags)
	return dir, name, err
}

func openat(dir int, name string, flags int) (int, error) {
	return retry(func() (int, error) { return unix.Openat(dir, name, flags, 0) })
}

// retry repeats what a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
