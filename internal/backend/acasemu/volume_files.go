package acasemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// inVolume opens the directory of a request's volume. Guests put links into it,
// which must lead nowhere outside.
func (e *Emulator) inVolume(ctx context.Context, c *call, f func(root *os.Root, name string) (answer, error)) (answer, error) {
	var r volumeRecord
	err := e.store.View(ctx, func(tx *store.Tx) (err error) {
		r, err = e.volume(tx, c, c.seg[wire.SegVolume])
		return err
	})
	if err != nil {
		return answer{}, err
	}
	asked := c.pathParameter()
	if len(asked) > maxPath || strings.ContainsRune(asked, 0) {
		return answer{}, invalid("path is at most %d bytes without NUL", maxPath)
	}
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return answer{}, fmt.Errorf("opening a volume: %w", err)
	}
	defer root.Close()
	name := strings.TrimPrefix(path.Clean("/"+asked), "/")
	if name == "" {
		name = "."
	}
	a, err := f(root, name)
	return a, volumeFailure(err)
}

func volumeFailure(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*refusal](err); ok {
		return err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(http.StatusNotFound, "FileNotFound", "nothing stands at the path")
	case errors.Is(err, fs.ErrExist):
		return refuse(http.StatusPreconditionFailed, "FileAlreadyExists", "something stands at the path; ask for overwrite=true")
	case errors.Is(err, fs.ErrPermission):
		return refuse(http.StatusBadRequest, "NotPermitted", "the volume declined")
	}
	return invalid("the path is not one for this")
}

func (e *Emulator) volumeFileList(ctx context.Context, c *call) (answer, error) {
	return e.inVolume(ctx, c, func(root *os.Root, name string) (answer, error) {
		dir, err := root.Open(name)
		if err != nil {
			return answer{}, err
		}
		defer dir.Close()
		all, err := dir.ReadDir(-1)
		if err != nil {
			return answer{}, err
		}
		slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		entries := make([]wire.FileInfo, 0, len(all))
		for _, entry := range all {
			info, err := entry.Info()
			if err != nil {
				continue // it went while it was listed
			}
			f := File{Name: entry.Name(), Mode: info.Mode(), Size: info.Size(), Modified: info.ModTime()}
			entries = append(entries, c.fileInfo(f, f.Name, path.Join("/", name, f.Name)))
		}
		return ok(wire.Listing{Path: path.Join("/", name), Entries: &entries})
	})
}

func (e *Emulator) volumeFileRead(ctx context.Context, c *call) (answer, error) {
	return e.inVolume(ctx, c, func(root *os.Root, name string) (answer, error) {
		info, err := root.Stat(name)
		if err != nil {
			return answer{}, err
		}
		if !info.Mode().IsRegular() { // opening a pipe would wait for a writer
			return answer{}, invalid("the path is not a regular file")
		}
		file, err := root.Open(name)
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, stream: file, size: info.Size()}, nil
	})
}

func (e *Emulator) volumeFileWrite(ctx context.Context, c *call) (answer, error) {
	return e.inVolume(ctx, c, func(root *os.Root, name string) (answer, error) {
		content, size, err := e.upload(c)
		if err != nil {
			return answer{}, err
		}
		if parent := path.Dir(name); parent != "." {
			if err := root.MkdirAll(parent, 0o755); err != nil {
				return answer{}, err
			}
		}
		how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
		if c.flag("overwrite", false) {
			if info, err := root.Lstat(name); err == nil && !info.IsDir() {
				if err := root.Remove(name); err != nil {
					return answer{}, err
				}
			}
		}
		file, err := root.OpenFile(name, how, 0o644)
		if err != nil {
			return answer{}, err
		}
		n, err := io.Copy(file, content)
		if err := errors.Join(err, file.Close()); err != nil || n != size {
			return answer{}, errors.Join(refuse(http.StatusBadRequest, "InvalidRequestContent", "the body did not arrive whole"), root.Remove(name))
		}
		return created(wire.Done{Success: new(true), BytesWritten: &n})
	})
}

func (e *Emulator) volumeFileMkdir(ctx context.Context, c *call) (answer, error) {
	return e.inVolume(ctx, c, func(root *os.Root, name string) (answer, error) {
		if err := root.MkdirAll(name, 0o755); err != nil {
			return answer{}, err
		}
		return created(wire.Done{Success: new(true)})
	})
}

func (e *Emulator) volumeFileDelete(ctx context.Context, c *call) (answer, error) {
	return e.inVolume(ctx, c, func(root *os.Root, name string) (answer, error) {
		if name == "." {
			return answer{}, invalid("the root of a volume stays")
		}
		if _, err := root.Lstat(name); err != nil {
			return answer{}, err
		}
		remove := root.Remove
		if c.flag("recursive", false) {
			remove = root.RemoveAll
		}
		if err := remove(name); errors.Is(err, fs.ErrExist) {
			return answer{}, refuse(http.StatusBadRequest, "DirectoryNotEmpty", "the directory is not empty; ask for recursive=true")
		} else if err != nil {
			return answer{}, err
		}
		return nothing()
	})
}
