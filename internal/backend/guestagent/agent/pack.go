//go:build linux

package agent

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// packing writes one archive.
type packing struct {
	to *tar.Writer
	// linked is where a file with several names stands in the archive already.
	linked map[uint64]string
}

// pack writes all of the file system whose root is held: directories before what
// is in them, every name of a file as a link to its first. Sockets, which lead
// nowhere without their process, and devices, which no guest can make, are left
// out, as are extended attributes, to which nothing in a guest gives a meaning.
func pack(root int, to io.Writer) error {
	p := &packing{to: tar.NewWriter(to), linked: map[uint64]string{}}
	fd, err := openWithin(root, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := p.directory(fd, "./"); err != nil {
		return err
	}
	return p.to.Close()
}

// openWithin opens a name in a directory, without following a link or entering
// another file system.
func openWithin(dir int, name string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_NOFOLLOW | unix.O_CLOEXEC), Resolve: beneath | unix.RESOLVE_NO_XDEV}
	return retry(func() (int, error) { return unix.Openat2(dir, name, &how) })
}

func header(st *unix.Stat_t, kind byte, name string) *tar.Header {
	return &tar.Header{
		Typeflag: kind, Name: name, Mode: int64(st.Mode & 0o7777), Uid: int(st.Uid), Gid: int(st.Gid),
		ModTime: time.Unix(st.Mtim.Unix()), Format: tar.FormatPAX,
	}
}

func (p *packing) directory(fd int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if err := p.to.WriteHeader(header(&st, tar.TypeDir, name)); err != nil {
		return err
	}
	if name == "./" {
		name = ""
	}
	return entries(fd, func() func() { return func() {} }, func(child string, _ byte) error {
		err := p.entry(fd, child, name+child)
		if errors.Is(err, unix.EXDEV) || errors.Is(err, unix.ENOENT) {
			return nil // another file system, or gone since
		}
		return err
	})
}

func (p *packing) entry(dir int, child, name string) error {
	fd, err := openWithin(dir, child, unix.O_PATH)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		below, err := openWithin(dir, child, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(below) }()
		return p.directory(below, name+"/")
	case unix.S_IFREG:
		return p.file(dir, child, name)
	case unix.S_IFLNK:
		h := header(&st, tar.TypeSymlink, name)
		if h.Linkname, err = readLink(fd, ""); err != nil {
			return err
		}
		return p.to.WriteHeader(h)
	case unix.S_IFIFO:
		return p.to.WriteHeader(header(&st, tar.TypeFifo, name))
	}
	return nil
}

func (p *packing) file(dir int, child, name string) error {
	fd, err := openWithin(dir, child, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "file")
	defer func() { _ = f.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	h := header(&st, tar.TypeReg, name)
	if st.Nlink > 1 {
		first, seen := p.linked[st.Ino]
		if seen {
			h.Typeflag, h.Linkname = tar.TypeLink, first
			return p.to.WriteHeader(h)
		}
		p.linked[st.Ino] = name
	}
	h.Size = st.Size
	if err := p.to.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(p.to, io.LimitReader(f, st.Size))
	if err == nil && n < st.Size {
		err = errStatusBusy // somebody shortened it
	}
	return err
}
