//go:build linux

package hostengine

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// naive is a guest whose file operations are what one would write without thinking
// of links: each is a sequence of calls by path.
type naive struct{ *guest }

var _ engine.Execer = naive{}

// Open follows whatever stands there.
func (n naive) Open(_ context.Context, ref engine.FileRef) (io.ReadCloser, engine.Info, error) {
	f, err := os.Open(ref.Path)
	if err != nil {
		return nil, engine.Info{}, translate(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, engine.Info{}, errors.Join(err, f.Close())
	}
	return f, engine.Info{Name: filepath.Base(ref.Path), Kind: sandbox.EntryFile, Size: info.Size(), SizeKnown: true}, nil
}

// Write writes in place, through whatever stands there.
func (n naive) Write(_ context.Context, ref engine.FileRef, content io.Reader, _ int64) error {
	f, err := os.OpenFile(ref.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return translate(err)
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// List reads whatever directory the path leads to.
func (n naive) List(_ context.Context, ref engine.FileRef, yield func(engine.Info) bool) error {
	entries, err := os.ReadDir(ref.Path)
	if err != nil {
		return translate(err)
	}
	for _, e := range entries {
		kind := sandbox.EntryFile
		if e.IsDir() {
			kind = sandbox.EntryDirectory
		}
		if !yield(engine.Info{Name: e.Name(), Kind: kind}) {
			return nil
		}
	}
	return nil
}

// Remove looks first and empties what it saw by path.
func (n naive) Remove(ctx context.Context, ref engine.FileRef, recursive bool) error {
	info, err := n.Stat(ctx, ref)
	if err != nil || info.Kind != sandbox.EntryDirectory || !recursive {
		return errors.Join(err, n.guest.Remove(ctx, ref, false))
	}
	entries, err := os.ReadDir(ref.Path)
	if err != nil {
		return translate(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(ref.Path, e.Name())); err != nil {
			return translate(err)
		}
	}
	return translate(os.Remove(ref.Path))
}
