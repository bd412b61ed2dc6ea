package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Image is a program or a filter in memory that nobody can change any more. What
// is handed to a sandbox is read through the descriptor that was hashed.
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
	sealed := make([]byte, len(content))
	if _, err := f.ReadAt(sealed, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s back: %w", name, err), f.Close())
	}
	sum := sha256.Sum256(sealed)
	return &Image{f, "sha256:" + hex.EncodeToString(sum[:])}, nil
}

// Digest is the SHA-256 of what is sealed.
func (i *Image) Digest() string { return i.digest }

// Open answers the content at its beginning, with a position of its own.
func (i *Image) Open() (*os.File, error) {
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", i.file.Fd()))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", i.file.Name(), err)
	}
	return f, nil
}

// Close frees the memory once no sandbox holds it.
func (i *Image) Close() error { return i.file.Close() }
