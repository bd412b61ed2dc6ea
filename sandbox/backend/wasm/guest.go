package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/wasi"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// guest is one sandbox: a file system, of which its programs see the work
// directory.
type guest struct {
	engine  *Engine
	id      string
	name    string
	labels  map[string]string
	workDir string
	files   *memfs.FS

	// life ends when the sandbox is deleted.
	life context.Context
	end  context.CancelCauseFunc

	mu   sync.Mutex
	gone bool
	runs sync.WaitGroup
}

var (
	_ engine.Guest      = (*guest)(nil)
	_ engine.CodeRunner = (*guest)(nil)
)

// ID is the sandbox's name with a number that no other sandbox of the engine has.
func (g *guest) ID() string { return g.id }

func (g *guest) carries(match map[string]string) bool {
	for key, value := range match {
		if got, ok := g.labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// enter counts a program that runs; stop waits for it.
func (g *guest) enter() (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone || g.life.Err() != nil {
		return nil, engine.ErrGone
	}
	g.runs.Add(1)
	return g.runs.Done, nil
}

func (g *guest) stop(ctx context.Context) error {
	g.mu.Lock()
	g.gone = true
	g.mu.Unlock()
	g.end(engine.ErrGone)
	over := make(chan struct{})
	go func() {
		g.runs.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// mounts are what a program that starts in dir sees. The embedded interpreter
// starts in its first mount; those built on wasi-libc start in the one called
// ".".
func (g *guest) mounts(dir string) ([]wasi.Mount, error) {
	if dir == "" {
		dir = g.workDir
	}
	work, err := g.files.Root().Dir(g.workDir[1:])
	if err != nil {
		return nil, fileError(err)
	}
	if dir != g.workDir && !strings.HasPrefix(dir, g.workDir+"/") {
		return nil, fmt.Errorf("%w: %s is not below the work directory", engine.ErrPermission, sandbox.Echo(dir))
	}
	start, err := g.files.Root().Dir(path.Clean(dir)[1:])
	if err != nil {
		return nil, fileError(err)
	}
	mounts := []wasi.Mount{{Name: dir, Dir: start}}
	if dir != g.workDir {
		mounts = append(mounts, wasi.Mount{Name: g.workDir, Dir: work})
	}
	if g.engine.interpreter != nil {
		mounts = append(mounts, wasi.Mount{Name: ".", Dir: start})
	}
	return mounts, nil
}

// locate is the path below the file system's root.
func (g *guest) locate(ctx context.Context, ref engine.FileRef) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if g.life.Err() != nil {
		return "", engine.ErrGone
	}
	root := strings.TrimSuffix(ref.Root, "/")
	if ref.Path != root && !strings.HasPrefix(ref.Path, root+"/") || path.Clean(ref.Path) != ref.Path {
		return "", fmt.Errorf("%w: %s does not lie below %s", engine.ErrPermission, sandbox.Echo(ref.Path), sandbox.Echo(ref.Root))
	}
	if ref.Path == "/" {
		return ".", nil
	}
	return ref.Path[1:], nil
}

func info(name string, i memfs.Info) engine.Info {
	if i.Dir {
		return engine.Info{Name: name, Kind: sandbox.EntryDirectory}
	}
	return engine.Info{Name: name, Kind: sandbox.EntryFile, Size: i.Size, SizeKnown: true}
}

// Stat describes what stands at the path.
func (g *guest) Stat(ctx context.Context, ref engine.FileRef) (engine.Info, error) {
	at, err := g.locate(ctx, ref)
	if err != nil {
		return engine.Info{}, err
	}
	i, err := g.files.Root().Stat(at)
	if err != nil {
		return engine.Info{}, fileError(err)
	}
	return info(path.Base(ref.Path), i), nil
}

// Open streams the file as it is at this moment.
func (g *guest) Open(ctx context.Context, ref engine.FileRef) (io.ReadCloser, engine.Info, error) {
	at, err := g.locate(ctx, ref)
	if err != nil {
		return nil, engine.Info{}, err
	}
	data, i, err := g.files.Root().Snapshot(at)
	if errors.Is(err, memfs.ErrIsDirectory) {
		err = engine.ErrNotRegular
	}
	if err != nil {
		return nil, engine.Info{}, fileError(err)
	}
	return io.NopCloser(bytes.NewReader(data)), info(path.Base(ref.Path), i), nil
}

// Write takes in the whole content, then puts it in place in one step. It looks
// at the context between reads of content.
func (g *guest) Write(ctx context.Context, ref engine.FileRef, content io.Reader, size int64) error {
	at, err := g.locate(ctx, ref)
	if err != nil {
		return err
	}
	if size > g.engine.settings.limits.FileBytes {
		return engine.ErrNoSpace
	}
	data, err := io.ReadAll(io.LimitReader(contextReader{ctx, content}, size+1))
	if err != nil {
		return fmt.Errorf("read the content: %w", err)
	}
	if int64(len(data)) != size {
		return engine.ErrSize
	}
	if g.life.Err() != nil {
		return engine.ErrGone
	}
	return fileError(g.files.Root().Replace(at, data))
}

type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// Mkdir makes one directory.
func (g *guest) Mkdir(ctx context.Context, ref engine.FileRef) error {
	at, err := g.locate(ctx, ref)
	if err != nil {
		return err
	}
	err = g.files.Root().Mkdir(at)
	if errors.Is(err, memfs.ErrExist) {
		i, err := g.files.Root().Stat(at)
		if err == nil && !i.Dir {
			return engine.ErrNotDirectory
		}
		return fileError(err)
	}
	return fileError(err)
}

// List yields the children by name.
func (g *guest) List(ctx context.Context, ref engine.FileRef, yield func(engine.Info) bool) error {
	at, err := g.locate(ctx, ref)
	if err != nil {
		return err
	}
	children, err := g.files.Root().List(at)
	if err != nil {
		return fileError(err)
	}
	for _, child := range children {
		if !yield(info(child.Name, child)) {
			break
		}
	}
	return nil
}

// Remove removes a file or, when recursive, a directory. The work directory and
// those above it stay.
func (g *guest) Remove(ctx context.Context, ref engine.FileRef, recursive bool) error {
	at, err := g.locate(ctx, ref)
	if err != nil {
		return err
	}
	if at == "." || ref.Path == g.workDir || strings.HasPrefix(g.workDir, ref.Path+"/") {
		return fmt.Errorf("%w: the work directory stays", engine.ErrPermission)
	}
	err = g.files.Root().Remove(at)
	if errors.Is(err, memfs.ErrIsDirectory) && recursive {
		err = g.files.Root().RemoveAll(at)
	}
	return fileError(err)
}

// fileError says in the engine seam's words what the file system answered.
func fileError(err error) error {
	for _, row := range []struct{ is, as error }{
		{memfs.ErrNotExist, engine.ErrNotExist},
		{memfs.ErrNotDirectory, engine.ErrNotDirectory},
		{memfs.ErrIsDirectory, engine.ErrIsDirectory},
		{memfs.ErrNoSpace, engine.ErrNoSpace},
		{memfs.ErrNameTooLong, engine.ErrPermission},
		{memfs.ErrInvalid, engine.ErrPermission},
		{memfs.ErrOutside, engine.ErrPermission},
	} {
		if errors.Is(err, row.is) {
			return row.as
		}
	}
	return err
}
