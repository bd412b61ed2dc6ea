//go:build linux

package hostengine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// guest is the seam to one sandbox.
type guest struct {
	e *Engine
	b *box
}

// ID names the sandbox.
func (g *guest) ID() string { return g.b.id }

// directory opens the directory that holds a path's last component, links
// followed.
func (g *guest) directory(ctx context.Context, ref engine.FileRef) (fd int, name string, err error) {
	if err := errors.Join(ctx.Err(), g.gone()); err != nil {
		return -1, "", err
	}
	dir, name := filepath.Split(ref.Path)
	if name == "" {
		name = "."
	}
	fd, err = unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fd, name, translate(err)
}

func (g *guest) gone() error {
	if g.b.ctx.Err() != nil {
		return engine.ErrGone
	}
	return nil
}

// translate turns errors into the seam's.
func translate(err error) error {
	for from, to := range map[error]error{
		unix.ENOENT: engine.ErrNotExist, unix.ENOTDIR: engine.ErrNotDirectory, unix.ELOOP: engine.ErrThroughLink,
		unix.EISDIR: engine.ErrIsDirectory, unix.ENOSPC: engine.ErrNoSpace, unix.EDQUOT: engine.ErrNoSpace,
		unix.EACCES: engine.ErrPermission, unix.EPERM: engine.ErrPermission, unix.EROFS: engine.ErrPermission, unix.EBUSY: engine.ErrPermission,
	} {
		if errors.Is(err, from) {
			return fmt.Errorf("%w: %w", to, err)
		}
	}
	return err
}

func (g *guest) Stat(ctx context.Context, ref engine.FileRef) (engine.Info, error) {
	dir, name, err := g.directory(ctx, ref)
	if err != nil {
		return engine.Info{}, err
	}
	defer unix.Close(dir) //nolint:errcheck // only looked through
	return stat(dir, name)
}

func stat(dir int, name string) (engine.Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return engine.Info{}, translate(err)
	}
	info := engine.Info{Name: name, Kind: kindOf(st.Mode)}
	if info.Kind == sandbox.EntryFile {
		info.Size, info.SizeKnown = st.Size, true
	}
	return info, nil
}

func kindOf(mode uint32) sandbox.EntryKind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return sandbox.EntryFile
	case unix.S_IFDIR:
		return sandbox.EntryDirectory
	case unix.S_IFLNK:
		return sandbox.EntrySymlink
	}
	return sandbox.EntryOther
}

func (g *guest) Open(ctx context.Context, ref engine.FileRef) (io.ReadCloser, engine.Info, error) {
	dir, name, err := g.directory(ctx, ref)
	if err != nil {
		return nil, engine.Info{}, err
	}
	defer unix.Close(dir) //nolint:errcheck // only looked through
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, engine.Info{}, translate(err)
	}
	f := os.NewFile(uintptr(fd), ref.Path)
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, engine.Info{}, errors.Join(engine.ErrNotRegular, err, f.Close())
	}
	return f, engine.Info{Name: name, Kind: sandbox.EntryFile, Size: info.Size(), SizeKnown: true}, nil
}

func (g *guest) Write(ctx context.Context, ref engine.FileRef, content io.Reader, size int64) (err error) {
	dir, name, err := g.directory(ctx, ref)
	if err != nil {
		return err
	}
	defer unix.Close(dir) //nolint:errcheck // only looked through
	part := ".part-" + rand.Text()
	fd, err := unix.Openat(dir, part, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o755)
	if err != nil {
		return translate(err)
	}
	f := os.NewFile(uintptr(fd), part)
	defer func() {
		if err != nil {
			_ = unix.Unlinkat(dir, part, 0) // the error before it is what matters
		}
	}()
	n, err := io.Copy(f, content)
	if err = errors.Join(err, f.Close(), ctx.Err()); err != nil {
		return translate(err)
	}
	if n != size {
		return engine.ErrSize
	}
	if info, err := stat(dir, name); err == nil {
		switch info.Kind {
		case sandbox.EntryDirectory:
			return engine.ErrIsDirectory
		case sandbox.EntrySymlink:
			return engine.ErrThroughLink
		case sandbox.EntryOther:
			return engine.ErrNotRegular
		}
	}
	return translate(unix.Renameat(dir, part, dir, name))
}

func (g *guest) Mkdir(ctx context.Context, ref engine.FileRef) error {
	dir, name, err := g.directory(ctx, ref)
	if err != nil {
		return err
	}
	defer unix.Close(dir) //nolint:errcheck // only looked through
	err = unix.Mkdirat(dir, name, 0o755)
	if errors.Is(err, unix.EEXIST) {
		info, err := stat(dir, name)
		if err == nil && info.Kind != sandbox.EntryDirectory {
			err = engine.ErrNotDirectory
		}
		return err
	}
	return translate(err)
}

func (g *guest) List(ctx context.Context, ref engine.FileRef, yield func(engine.Info) bool) error {
	dir, name, err := g.directory(ctx, ref)
	if err != nil {
		return err
	}
	defer unix.Close(dir) //nolint:errcheck // only looked through
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOTDIR) {
		if info, statErr := stat(dir, name); statErr == nil && info.Kind == sandbox.EntrySymlink {
			return engine.ErrThroughLink
		}
	}
	if err != nil {
		return translate(err)
	}
	f := os.NewFile(uintptr(fd), ref.Path)
	defer f.Close()
	for {
		names, err := f.Readdirnames(256)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return translate(err)
		}
		for _, n := range names {
			info, err := stat(fd, n)
			if errors.Is(err, engine.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if !yield(info) {
				return nil
			}
		}
	}
}

func (g *guest) Remove(ctx context.Context, ref engine.FileRef, recursive bool) error {
	dir, name, err := g.directory(ctx, ref)
	if err != nil {
		return err
	}
	defer unix.Close(dir) //nolint:errcheck // only looked through
	info, err := stat(dir, name)
	switch {
	case err != nil:
		return err
	case info.Kind != sandbox.EntryDirectory:
		return translate(unix.Unlinkat(dir, name, 0))
	case !recursive:
		return engine.ErrIsDirectory
	}
	// os.Root follows nothing out of it, whatever is swapped meanwhile.
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", dir))
	if err != nil {
		return translate(err)
	}
	defer root.Close()
	err = root.RemoveAll(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return translate(err)
}
