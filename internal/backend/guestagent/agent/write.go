//go:build linux

package agent

import (
	"encoding/hex"
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// newFile is a file on its way to its name. Until it gets there it has one in the
// same directory that nobody can guess and prepare.
type newFile struct {
	dir        int
	name, temp string
	fd         int
}

// write receives the content beside what it replaces and renames it at the end,
// so that what stood there stands until all of the new content is there.
func (a *Agent) write(c *serve.Call, f wire.File) error {
	to, err := a.create(f)
	if err != nil {
		return err
	}
	defer to.drop()
	if f.Size > wire.FirstCredit {
		if err := c.Accept(); err != nil {
			return err
		}
	}
	if err := a.receive(c, to.fd, f.Size); err != nil {
		return err
	}
	defer a.enterKernel()()
	return to.keep()
}

func (a *Agent) create(f wire.File) (*newFile, error) {
	defer a.enterKernel()()
	dir, name, err := a.treeFor(f).parent(f.Path)
	if err != nil {
		return nil, notRegularRoot(f.Path, err)
	}
	to := &newFile{dir: dir, name: name, temp: tempName(), fd: -1}
	mode, owner, err := replaceable(dir, name)
	if f.SetMode {
		mode = f.Mode
	}
	if err == nil {
		to.fd, err = retry(func() (int, error) {
			return unix.Openat(dir, to.temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		})
	}
	if err != nil {
		to.drop()
		return nil, err
	}
	if owner != nil {
		// Another's file stays its owner's: only a guest's root comes here.
		_ = unix.Fchown(to.fd, int(owner.UID), int(owner.GID))
	}
	if mode != newMode {
		// A mode beside the usual is what the guest gave the old file, often to
		// run it; a file system that cannot keep it may say no.
		_ = unix.Fchmod(to.fd, mode)
	}
	return to, nil
}

func notRegularRoot(path string, err error) error {
	if path == "/" {
		return errNotRegular
	}
	return err
}

const newMode = 0o644

// replaceable answers the permissions that the file's replacement is to have, and
// its owner where that is somebody else.
func replaceable(dir int, name string) (mode uint32, owner *wire.User, err error) {
	var st unix.Stat_t
	err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, unix.ENOENT):
		return newMode, nil, nil
	case err != nil:
		return 0, nil, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if unix.Geteuid() == 0 && (st.Uid != 0 || st.Gid != 0) {
			owner = &wire.User{UID: st.Uid, GID: st.Gid}
		}
		return st.Mode & 0o777, owner, nil
	case unix.S_IFLNK:
		return 0, nil, unix.ELOOP
	default:
		return 0, nil, errNotRegular
	}
}

func tempName() string {
	var b [16]byte
	// With so few bytes it neither fails nor waits; a name that is taken is told.
	_, _ = unix.Getrandom(b[:], 0)
	return ".sandbox-" + hex.EncodeToString(b[:])
}

// receive writes exactly size bytes and then waits for the end, which the host
// sends when the content really ended there.
func (a *Agent) receive(c *serve.Call, fd int, size int64) error {
	for got := int64(0); ; {
		part, err := c.Next(c.Cancelled())
		switch {
		case errors.Is(err, io.EOF) && got == size:
			return nil
		case errors.Is(err, io.EOF):
			return errSize
		case err != nil:
			return errCancelled
		case int64(len(part)) > size-got:
			return errSize
		}
		part = part[:min(len(part), wire.MaxChunk)]
		if err := a.writeAll(fd, part); err != nil {
			return err
		}
		got += int64(len(part))
		if err := c.Took(len(part)); err != nil {
			return err
		}
	}
}

func (a *Agent) writeAll(fd int, part []byte) error {
	defer a.enterKernel()()
	for len(part) > 0 {
		n, err := retry(func() (int, error) { return unix.Write(fd, part) })
		if err != nil {
			return err
		}
		part = part[n:]
	}
	return nil
}

// keep gives the file its name. What stands there now is replaced, whatever it
// became meanwhile: a link as a link; a directory declines.
func (n *newFile) keep() error {
	err := unix.Renameat(n.dir, n.temp, n.dir, n.name)
	if err == nil {
		n.temp = ""
	}
	if errors.Is(err, unix.EISDIR) {
		return errNotRegular
	}
	return err
}

func (n *newFile) drop() {
	if n.fd >= 0 {
		_ = unix.Close(n.fd)
		if n.temp != "" {
			_ = unix.Unlinkat(n.dir, n.temp, 0)
		}
	}
	_ = unix.Close(n.dir)
}
