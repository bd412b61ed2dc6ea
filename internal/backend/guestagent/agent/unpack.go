//go:build linux

package agent

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// unpack puts what an archive holds into the file system whose root is held. A
// later entry of a name takes the place of an earlier one, except that directories
// stay. Links in the directories of a name lead as they would lead a program.
//
// An owner that the guest does not have becomes its root, since no number stands
// for it. Devices, extended attributes and what would stand below /proc, /sys and
// /dev are left out.
func unpack(root int, from io.Reader) error {
	archive := tar.NewReader(from)
	for {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			_, err := io.Copy(io.Discard, from) // what pads an archive
			return err
		case errors.Is(err, tar.ErrInsecurePath): // every name is made a clean one below
		case errors.Is(err, tar.ErrHeader), errors.Is(err, io.ErrUnexpectedEOF):
			return errInvalid
		case err != nil:
			return err
		}
		name := cleanName(h.Name)
		if reserved(name) || name == "." && h.Typeflag != tar.TypeDir {
			continue
		}
		if err := place(root, name, h, archive); err != nil {
			return err
		}
	}
}

// cleanName is a name relative to the root, and never above it.
func cleanName(name string) string {
	clean := strings.TrimPrefix(path.Clean("/"+name), "/")
	if clean == "" {
		return "."
	}
	return clean
}

// reserved is what every guest has of its own, and what its engine shows it.
func reserved(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	switch top {
	case "proc", "sys", "dev":
		return true
	case "run":
		return name == "run/agent" || name == "run/egress" || strings.HasPrefix(name, "run/egress/")
	}
	return false
}

// place puts one entry in its place.
func place(root int, name string, h *tar.Header, content io.Reader) error {
	if name == "." {
		return own(root, ".", h)
	}
	dir, err := directoryOf(root, path.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	base := path.Base(name)
	if h.Typeflag == tar.TypeDir {
		return placeDirectory(dir, base, h)
	}
	if err := unix.Unlinkat(dir, base, 0); isDirectory(err) {
		// One that is not empty stays, and the entry fails.
		if err := unix.Unlinkat(dir, base, unix.AT_REMOVEDIR); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return placeFile(dir, base, h, content)
	case tar.TypeSymlink:
		if err := unix.Symlinkat(h.Linkname, dir, base); err != nil {
			return err
		}
	case tar.TypeLink:
		return placeLink(root, dir, base, cleanName(h.Linkname))
	case tar.TypeFifo:
		if err := unix.Mknodat(dir, base, unix.S_IFIFO|0o600, 0); err != nil {
			return err
		}
	default:
		return nil
	}
	return own(dir, base, h)
}

// directoryOf opens a directory below the root, and makes what is not there of it.
func directoryOf(root int, name string) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	open := func(name string) (int, error) {
		return retry(func() (int, error) {
			return unix.Openat2(root, name, &unix.OpenHow{Flags: flags, Resolve: sameFileSystem})
		})
	}
	fd, err := open(name)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	above, err := directoryOf(root, path.Dir(name))
	if err != nil {
		return -1, err
	}
	err = unix.Mkdirat(above, path.Base(name), 0o755)
	_ = unix.Close(above)
	if err != nil {
		return -1, err // a link that leads nowhere among others
	}
	return open(name)
}

func placeDirectory(dir int, name string, h *tar.Header) error {
	err := unix.Mkdirat(dir, name, 0o700)
	if errors.Is(err, unix.EEXIST) {
		var st unix.Stat_t
		if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			if err := unix.Unlinkat(dir, name, 0); err != nil {
				return err
			}
			err = unix.Mkdirat(dir, name, 0o700)
		} else {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return own(dir, name, h)
}

func placeFile(dir int, name string, h *tar.Header, content io.Reader) error {
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "file")
	if _, err := io.Copy(f, content); err != nil {
		_ = f.Close()
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) {
			return errInvalid
		}
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return own(dir, name, h)
}

// placeLink gives a file of the archive another name.
func placeLink(root, dir int, name, target string) error {
	above, err := directoryOf(root, path.Dir(target))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(above) }()
	return unix.Linkat(above, path.Base(target), dir, name, 0)
}

// own gives an entry its owner, permissions and time. The permissions come after
// the owner, with which the kernel takes some of them away.
func own(dir int, name string, h *tar.Header) error {
	const flags = unix.AT_SYMLINK_NOFOLLOW
	for _, id := range []struct{ uid, gid int }{{h.Uid, -1}, {-1, h.Gid}} {
		err := unix.Fchownat(dir, name, id.uid, id.gid, flags)
		if err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	if h.Typeflag != tar.TypeSymlink {
		if err := unix.Fchmodat(dir, name, uint32(h.Mode)&0o7777, 0); err != nil {
			return err
		}
	}
	if h.ModTime.IsZero() {
		return nil
	}
	at, err := unix.TimeToTimespec(h.ModTime)
	if err != nil {
		return nil //nolint:nilerr // a time that the kernel has no number for is left out
	}
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{at, at}, flags)
}
