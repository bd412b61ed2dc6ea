package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Image is a program or a filter that no guest can change. What is handed to a
// sandbox is read through the descriptor that was hashed, or that very one.
type Image struct {
	file   *os.File
	digest string
}

// NewImage seals content and hashes what stands behind the seal.
func NewImage(name string, content []byte) (*Image, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("hold %s in memory: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(content); err != nil {
		return nil, errors.Join(fmt.Errorf("hold %s in memory: %w", name, err), f.Close())
	}
	seals := unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, errors.Join(fmt.Errorf("seal %s: %w", name, err), f.Close())
	}
	digest, err := digestOf(f, len(content))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Image{f, digest}, nil
}

// NewFile makes a file that nobody but its owner can change, and that is read and
// mounted through the descriptor that was hashed. All sandboxes share its pages.
// It must stand where others cannot replace it, and goes when that goes. Where it
// could not be started from, by the user that sandboxes run as, it is
// [ErrNotThere] and nothing is made; others says that this is another user.
func NewFile(path string, others bool, content []byte) (*Image, error) {
	if others && !passable(filepath.Dir(path)) {
		return nil, ErrNotThere
	}
	if err := os.WriteFile(path, content, 0o555); err != nil {
		return nil, fmt.Errorf("put a program in its place: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a program: %w", err)
	}
	i := &Image{file: f}
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return nil, errors.Join(fmt.Errorf("look at a program's file system: %w", err), f.Close())
	}
	if s.Flags&unix.ST_NOEXEC != 0 {
		return nil, errors.Join(ErrNotThere, f.Close(), os.Remove(path))
	}
	// The mode that was asked for is without what the process' mask takes away.
	if err := f.Chmod(0o555); err != nil {
		return nil, errors.Join(fmt.Errorf("let sandboxes run a program: %w", err), f.Close())
	}
	if i.digest, err = digestOf(f, len(content)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return i, nil
}

// ErrNotThere says that sandboxes cannot start a program from a place.
var ErrNotThere = errors.New("no program can be started from there")

// passable reports whether every user gets through to a directory: bubblewrap
// resolves the path behind a descriptor as the user it runs as.
func passable(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == "/" {
			return true
		}
	}
}

// digestOf hashes what stands behind a descriptor, and that it is so long.
func digestOf(f *os.File, size int) (string, error) {
	content := make([]byte, size+1)
	n, err := f.ReadAt(content, 0)
	if n != size || !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s back: %d bytes, %w", filepath.Base(f.Name()), n, err)
	}
	sum := sha256.Sum256(content[:size])
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Digest is the SHA-256 of what is sealed.
func (i *Image) Digest() string { return i.digest }

// Open answers the content at its beginning, with a position of its own.
func (i *Image) Open() (*os.File, error) {
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", i.file.Fd()))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(i.file.Name()), err)
	}
	return f, nil
}

// Close frees the memory once no sandbox holds it.
func (i *Image) Close() error { return i.file.Close() }
