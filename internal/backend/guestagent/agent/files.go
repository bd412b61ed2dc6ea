//go:build linux

package agent

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

func info(st *unix.Stat_t) wire.Info {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return wire.Info{Kind: wire.EntryFile, Size: max(st.Size, 0)}
	case unix.S_IFDIR:
		return wire.Info{Kind: wire.EntryDirectory}
	case unix.S_IFLNK:
		return wire.Info{Kind: wire.EntrySymlink}
	default:
		return wire.Info{Kind: wire.EntryOther}
	}
}

func (a *Agent) stat(f wire.File) (wire.Info, error) {
	defer a.enterKernel()()
	fd, err := a.treeFor(f).open(f.Path, unix.O_PATH)
	if err != nil {
		return wire.Info{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return wire.Info{}, err
	}
	return info(&st), nil
}

// openFile opens a regular file and never waits for one that is not: neither a
// pipe without a writer nor a lease that somebody holds.
func (a *Agent) openFile(f wire.File) (fd int, _ wire.Info, err error) {
	defer a.enterKernel()()
	fd, err = a.treeFor(f).open(f.Path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return -1, wire.Info{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return -1, wire.Info{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return -1, wire.Info{}, errNotRegular
	}
	return fd, info(&st), nil
}

// read streams the file as it is at each read, to its end.
func (a *Agent) read(c *serve.Call, f wire.File) error {
	if err := c.Open(wire.StreamOut, f.Window); err != nil {
		return err
	}
	fd, i, err := a.openFile(f)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := c.Reply(i.Result()); err != nil {
		return err
	}
	for {
		room, err := c.Room(wire.StreamOut, wire.MaxChunk, c.Cancelled())
		if err != nil {
			return errCancelled
		}
		n, err := a.sendPart(c, fd, room)
		if n == 0 || err != nil {
			return err
		}
	}
}

func (a *Agent) sendPart(c *serve.Call, fd, room int) (int, error) {
	chunk := serve.NewChunk()
	defer chunk.Free()
	leave := a.enterKernel()
	n, err := retry(func() (int, error) { return unix.Read(fd, chunk.Payload(room)) })
	leave()
	if n <= 0 || err != nil {
		return 0, err
	}
	return n, c.Send(wire.StreamOut, chunk, n)
}

func (a *Agent) mkdir(f wire.File) error {
	if f.Path == "/" {
		return nil
	}
	defer a.enterKernel()()
	dir, name, err := a.treeFor(f).parent(f.Path)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	err = unix.Mkdirat(dir, name, 0o755)
	if err == nil && f.SetMode {
		// Past the mask, which the usual mode is within.
		return unix.Fchmodat(dir, name, f.Mode, 0)
	}
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
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
