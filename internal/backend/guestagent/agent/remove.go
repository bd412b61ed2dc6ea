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
	dir, name, err := a.tree.parent(f.Path)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	err = unix.Unlinkat(dir, name, 0)
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return err
	}
	var st unix.Stat_t
	if statErr := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); statErr != nil {
		return statErr
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return err
	case !f.Recursive:
		return unix.EISDIR
	}
	r := &removal{agent: a, call: c, top: -1}
	return r.directory(dir, name)
}

// removal empties and removes one directory. It goes down at most maxDepth levels;
// what lies deeper is moved up below the top first, so that neither the stack nor
// the number of open descriptors depends on the guest.
type removal struct {
	agent *Agent
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
		if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
			return err
		}
		// Passes that moved something up were not in vain.
		if r.moved > moved {
			moved, pass = r.moved, 0
		}
		if pass == maxPasses {
			return err
		}
		if err := r.enter(parent, name, 0); err != nil {
			return err
		}
	}
}

// enter empties the directory of that name.
func (r *removal) enter(parent int, name string, depth int) error {
	fd, err := openDirectory(parent, name)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if depth == 0 {
		r.top = fd
	}
	return r.agent.entries(fd, func(child string, kind byte) error {
		select {
		case <-r.call.Cancelled():
			return errCancelled
		default:
		}
		return r.child(fd, child, kind, depth)
	})
}

func (r *removal) child(dir int, name string, kind byte, depth int) error {
	var err error
	if kind != unix.DT_DIR {
		err = unix.Unlinkat(dir, name, 0)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	removed := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	switch {
	case removed == nil, errors.Is(removed, unix.ENOENT):
		return nil
	case errors.Is(removed, unix.ENOTDIR) && err != nil:
		return err
	case errors.Is(removed, unix.ENOTDIR):
		return nil // swapped since: the next pass sees to it
	case !errors.Is(removed, unix.ENOTEMPTY) && !errors.Is(removed, unix.EEXIST):
		return removed
	case depth == maxDepth:
		return r.moveUp(dir, name)
	}
	if err := r.enter(dir, name, depth+1); err != nil && !swapped(err) {
		return err
	}
	// One that filled up again is for the next pass.
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil && !swapped(err) &&
		!errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// swapped reports whether what was a directory no longer is one.
func swapped(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

func (r *removal) moveUp(dir int, name string) error {
	r.moved++
	err := unix.Renameat(dir, name, r.top, tempName()+"-"+strconv.Itoa(r.moved))
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
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
