package acas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// guest is one sandbox. It holds nothing but its name.
type guest struct {
	engine  *Engine
	sandbox *acasapi.Sandbox
}

var _ engine.Guest = (*guest)(nil)

// ID is the service's own.
func (g *guest) ID() string { return g.sandbox.ID() }

// fileError tells what a file operation came to. A path that is not found and a
// sandbox that is not found have one status; looking for the sandbox tells them apart.
func (g *guest) fileError(ctx context.Context, doing, path string, err error) error {
	doing += " " + sandbox.Echo(path)
	switch {
	case errors.Is(err, sandbox.CodeServiceNotFound):
		if _, gone := g.sandbox.Get(ctx); errors.Is(gone, sandbox.CodeServiceNotFound) {
			return fmt.Errorf("%s: %w: %w", doing, engine.ErrGone, err)
		}
		return fmt.Errorf("%s: %w: %w", doing, engine.ErrNotExist, err)
	case errors.Is(err, sandbox.CodeServiceInvalid): // the path is sound, so it is what stands there
		return fmt.Errorf("%s: %w: %w", doing, engine.ErrNotRegular, err)
	case errors.Is(err, sandbox.CodeFileSize):
		return fmt.Errorf("%s: %w: %w", doing, engine.ErrSize, err)
	}
	return engineError(doing, err)
}

// alive is an error once a program runs in the sandbox that nobody waits for.
func (g *guest) alive(ctx context.Context) error {
	if g.engine.isLost(g.ID()) {
		return engine.ErrGone
	}
	return ctx.Err()
}

// Stat describes what stands at the path. What the service calls neither a directory
// nor a link is taken for a file; [guest.Open] finds out about pipes.
func (g *guest) Stat(ctx context.Context, ref engine.FileRef) (engine.Info, error) {
	if err := g.alive(ctx); err != nil {
		return engine.Info{}, err
	}
	info, err := g.sandbox.StatFile(ctx, ref.Path)
	if err != nil {
		return engine.Info{}, g.fileError(ctx, "look at", ref.Path, err)
	}
	return infoOf(info, path.Base(ref.Path)), nil
}

func infoOf(f wire.FileInfo, name string) engine.Info {
	info := engine.Info{Name: name}
	switch {
	case f.Link():
		info.Kind = sandbox.EntrySymlink
	case f.Directory():
		info.Kind = sandbox.EntryDirectory
	default:
		info.Kind, info.SizeKnown = sandbox.EntryFile, f.Size != nil
		if f.Size != nil {
			info.Size = *f.Size
		}
	}
	return info
}

// emptyWait is how long the service may take over a file that it says is empty. One
// that is answers at once; a pipe, which looks the same, never does.
const emptyWait = 5 * time.Second

// Open streams a regular file.
func (g *guest) Open(ctx context.Context, ref engine.FileRef) (io.ReadCloser, engine.Info, error) {
	info, err := g.Stat(ctx, ref)
	switch {
	case err != nil:
		return nil, engine.Info{}, err
	case info.Kind == sandbox.EntrySymlink:
		return nil, engine.Info{}, engine.ErrThroughLink
	case info.Kind != sandbox.EntryFile:
		return nil, engine.Info{}, engine.ErrNotRegular
	case info.Size == 0:
		return g.openEmpty(ctx, ref, info)
	}
	content, err := g.sandbox.ReadFile(ctx, ref.Path)
	if err != nil {
		return nil, engine.Info{}, g.fileError(ctx, "read", ref.Path, err)
	}
	if content.Size >= 0 {
		info.Size = content.Size
	}
	return content, info, nil
}

// openEmpty reads what is said to be empty, which may be a pipe, or may have grown.
func (g *guest) openEmpty(ctx context.Context, ref engine.FileRef, info engine.Info) (io.ReadCloser, engine.Info, error) {
	short, cancel := context.WithTimeout(ctx, emptyWait)
	defer cancel()
	content, err := g.sandbox.ReadFile(short, ref.Path)
	if err == nil {
		defer content.Close()
		var first [1]byte
		switch n, end := io.ReadFull(content, first[:]); {
		case n > 0:
			return nil, engine.Info{}, fmt.Errorf("read %s: %w", sandbox.Echo(ref.Path), engine.ErrSize)
		case errors.Is(end, io.EOF):
			return io.NopCloser(bytes.NewReader(nil)), info, nil
		default:
			err = end
		}
	}
	if short.Err() != nil && ctx.Err() == nil {
		return nil, engine.Info{}, fmt.Errorf("read %s: no answer in %s: %w", sandbox.Echo(ref.Path), emptyWait, engine.ErrNotRegular)
	}
	return nil, engine.Info{}, g.fileError(ctx, "read", ref.Path, err)
}

// Write replaces a file. The service makes it root's.
func (g *guest) Write(ctx context.Context, ref engine.FileRef, content io.Reader, size int64) error {
	switch info, err := g.Stat(ctx, ref); {
	case errors.Is(err, engine.ErrNotExist):
	case err != nil:
		return err
	case info.Kind == sandbox.EntrySymlink:
		return engine.ErrThroughLink
	case info.Kind == sandbox.EntryDirectory:
		return engine.ErrIsDirectory
	}
	if err := g.sandbox.WriteFile(ctx, ref.Path, content, acasapi.Writing{Size: size, NoDirs: true}); err != nil {
		return g.fileError(ctx, "write", ref.Path, err)
	}
	return nil
}

// Mkdir makes a directory, root's and 0755.
func (g *guest) Mkdir(ctx context.Context, ref engine.FileRef) error {
	switch info, err := g.Stat(ctx, ref); {
	case errors.Is(err, engine.ErrNotExist):
	case err != nil:
		return err
	case info.Kind == sandbox.EntryDirectory:
		return nil
	case info.Kind == sandbox.EntrySymlink:
		return engine.ErrThroughLink
	default:
		return engine.ErrNotDirectory
	}
	if err := g.sandbox.MakeDir(ctx, ref.Path); err != nil {
		return g.fileError(ctx, "make directory", ref.Path, err)
	}
	return nil
}

// List describes the direct children of a directory.
func (g *guest) List(ctx context.Context, ref engine.FileRef, yield func(engine.Info) bool) error {
	switch info, err := g.Stat(ctx, ref); {
	case err != nil:
		return err
	case info.Kind == sandbox.EntrySymlink:
		return engine.ErrThroughLink
	case info.Kind != sandbox.EntryDirectory:
		return engine.ErrNotDirectory
	}
	entries, err := g.sandbox.ListFiles(ctx, ref.Path)
	if err != nil {
		return g.fileError(ctx, "list", ref.Path, err)
	}
	infos := make([]engine.Info, len(entries))
	for i := range entries {
		name := path.Base(entries[i].Path)
		if path.Dir(entries[i].Path) != ref.Path || entries[i].Name != name {
			return fmt.Errorf("list %s: an entry that is not in it: %w", sandbox.Echo(ref.Path), engine.ErrRefused)
		}
		infos[i] = infoOf(entries[i], name)
	}
	if err := g.nameExactly(ctx, ref.Path, infos); err != nil {
		return fmt.Errorf("list %s: %w", sandbox.Echo(ref.Path), err)
	}
	for _, info := range infos {
		if !yield(info) {
			return nil
		}
	}
	return nil
}

// Remove removes a file, a link, or a directory with all in it.
func (g *guest) Remove(ctx context.Context, ref engine.FileRef, recursive bool) error {
	info, err := g.Stat(ctx, ref)
	if err != nil {
		return err
	}
	if info.Kind == sandbox.EntryDirectory && !recursive {
		return engine.ErrIsDirectory
	}
	if err := g.sandbox.DeleteFile(ctx, ref.Path, recursive); err != nil {
		return g.fileError(ctx, "remove", ref.Path, err)
	}
	return nil
}
