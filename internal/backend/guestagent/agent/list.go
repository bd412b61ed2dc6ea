//go:build linux

package agent

import (
	"bytes"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// dirBuffer is how much of a directory is asked of the kernel at once.
const dirBuffer = 32 << 10

// entries calls yield for each name in the directory but "." and "..", with its
// type as the kernel gives it along, which may be unix.DT_UNKNOWN. Each question
// to the kernel stands between enter and what it answers.
func entries(fd int, enter func() (leave func()), yield func(name string, kind byte) error) error {
	buf := make([]byte, dirBuffer)
	for {
		leave := enter()
		n, err := retry(func() (int, error) { return unix.Getdents(fd, buf) })
		leave()
		if n <= 0 || err != nil {
			return err
		}
		for rest := buf[:n]; len(rest) > 0; {
			// struct linux_dirent64: inode and offset of 8 bytes each, the record's
			// length, the type, the name up to a NUL.
			const header = 8 + 8 + 2 + 1
			if len(rest) < header {
				return unix.EIO
			}
			length := int(binary.NativeEndian.Uint16(rest[16:]))
			if length < header || length > len(rest) {
				return unix.EIO
			}
			name, _, _ := bytes.Cut(rest[header:length], []byte{0})
			kind := rest[18]
			rest = rest[length:]
			if string(name) == "." || string(name) == ".." {
				continue
			}
			if err := yield(string(name), kind); err != nil {
				return err
			}
		}
	}
}

// list streams the entries in chunks, each of whole entries.
func (a *Agent) list(c *serve.Call, f wire.File) error {
	if err := c.Open(wire.StreamOut, f.Window); err != nil {
		return err
	}
	fd, err := a.openList(f)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var pending []byte
	err = entries(fd, a.enterKernel, func(name string, kind byte) error {
		i, err := describe(fd, name, kind)
		if errors.Is(err, unix.ENOENT) {
			return nil // gone since
		}
		if err != nil {
			return err
		}
		pending = wire.AppendEntry(pending, i, name)
		if len(pending) < dirBuffer {
			return nil
		}
		err = sendAll(c, pending)
		pending = pending[:0]
		return err
	})
	if err != nil {
		return err
	}
	return sendAll(c, pending)
}

func (a *Agent) openList(f wire.File) (int, error) {
	defer a.enterKernel()()
	return a.treeFor(f).open(f.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK)
}

func describe(dir int, name string, kind byte) (wire.Info, error) {
	switch kind {
	case unix.DT_DIR:
		return wire.Info{Kind: wire.EntryDirectory}, nil
	case unix.DT_LNK:
		return wire.Info{Kind: wire.EntrySymlink}, nil
	case unix.DT_FIFO, unix.DT_SOCK, unix.DT_CHR, unix.DT_BLK:
		return wire.Info{Kind: wire.EntryOther}, nil
	}
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return info(&st), err
}

func sendAll(c *serve.Call, data []byte) error {
	for len(data) > 0 {
		room, err := c.Room(wire.StreamOut, len(data), c.Cancelled())
		if err != nil {
			return errCancelled
		}
		chunk := serve.NewChunk()
		n := copy(chunk.Payload(room), data)
		err = c.Send(wire.StreamOut, chunk, n)
		chunk.Free()
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
