//go:build linux

package agent

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// remove removes what stands at the path. Every step names a file in a directory
// that is held open, so that nothing swapped in meanwhile leads elsewhere.
func (a *Agent) remove(c *serve.Call, f wire.File) error {
	// A removal can be long, so it has a thread of another budget than the rest.
	select {
	case a.removals <- struct{}{}:
	case <-c.Cancelled():
		return errCancelled
	}
	defer func() { <-a.removals }()
	dir, name, err := a.treeFor(f).parent(f.Path)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	r := &removal{call: c, top: -1}
	for range maxPasses {
		err := r.entry(dir, name, f.Recursive)
		if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			return err
		}
		// What was a directory is something else now.
	}
	return errStatus(wire.StatusBusy)
}

// entry removes what stands in the directory at that name.
func (r *removal) entry(dir int, name string, recursive bool) error {
	err := unix.Unlinkat(dir, name, 0)
	if !isDirectory(err) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR && !recursive:
		return unix.EISDIR
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return r.directory(dir, name)
	case errors.Is(err, unix.EISDIR):
		return unix.ENOTDIR
	}
	return err
}

// isDirectory reads the answer of unlink: EISDIR, or EPERM as POSIX has it, which
// can mean other things too.
func isDirectory(err error) bool {
	return errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM)
}

// removal empties and removes one directory. It goes down at most maxDepth levels;
// what lies deeper is moved up below the top first, so that neither the stack nor
// the number of open descriptors depends on the guest.
type removal struct {
	call  *serve.Call
	top   int // the directory that is removed
	moved int // how many were moved up
}

const (
	maxDepth = 32
	// maxPasses bounds how often a directory that fills up again is emptied.
	maxPasses = 64
)

func (r *removal) directory(parent int, name string) error {
	for pass, moved := 0, 0; ; pass++ {
		err := unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
		if !notEmpty(err) {
			return err
		}
		// Passes that moved something up were not in vain.
		if r.moved > moved {
			moved, pass = r.moved, 0
		}
		if pass == maxPasses {
			return errStatus(wire.StatusBusy)
		}
		if err := r.empty(parent, name, 0); err != nil {
			return err
		}
	}
}

func notEmpty(err error) bool {
	return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)
}

// swapped reports whether what was a directory no longer is one. The next pass
// sees to what is there instead.
func swapped(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// empty removes what is in the directory of that name.
func (r *removal) empty(parent int, name string, depth int) error {
	fd, err := openDirectory(parent, name)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if depth == 0 {
		r.top = fd
	}
	return entries(fd, func() func() { return func() {} }, func(child string, kind byte) error {
		select {
		case <-r.call.Cancelled():
			return errCancelled
		default:
		}
		err := r.child(fd, child, kind, depth)
		if errors.Is(err, unix.EACCES) && unix.Fchmod(fd, 0o700) == nil {
			// The guest's own principal may do this, and so may its agent.
			err = r.child(fd, child, kind, depth)
		}
		if swapped(err) || notEmpty(err) {
			return nil
		}
		return err
	})
}

func (r *removal) child(dir int, name string, kind byte, depth int) error {
	if kind != unix.DT_DIR {
		err := unix.Unlinkat(dir, name, 0)
		if !isDirectory(err) {
			return err
		}
	}
	err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	switch {
	case !notEmpty(err):
		return err
	case depth == maxDepth:
		return r.moveUp(dir, name)
	}
	if err := r.empty(dir, name, depth+1); err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

func (r *removal) moveUp(dir int, name string) error {
	r.moved++
	return unix.Renameat(dir, name, r.top, tempName())
}

// openDirectory opens a directory to empty it, and gives the guest's own
// principal leave to do so where its mode is in the way.
func openDirectory(parent int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := openat(parent, name, flags)
	if !errors.Is(err, unix.EACCES) {
		return fd, err
	}
	held, pathErr := openat(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if pathErr != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(held) }()
	// A descriptor opened by O_PATH is changed through its name in /proc.
	if unix.Chmod("/proc/self/fd/"+strconv.Itoa(held), 0o700) != nil {
		return -1, err
	}
	return openat(parent, name, flags)
}
