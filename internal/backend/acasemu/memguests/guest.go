package memguests

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// with runs f on the files of a guest that is awake.
func (g *guest) with(ctx context.Context, f func(*tree) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone || g.asleep {
		return engine.ErrGone
	}
	return f(g.tree)
}

// Exec runs a command until it ends or the guest's programs do.
func (g *guest) Exec(ctx context.Context, req engine.ExecRequest) (int, error) {
	if g.of.options.Exec == nil {
		return 0, &acasemu.Unsupported{Title: "NoCommands", Detail: "these guests were given no commands"}
	}
	g.mu.Lock()
	running, away := g.running, g.gone || g.asleep
	g.mu.Unlock()
	if away {
		return 0, engine.ErrGone
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(running, func() { cancel(engine.ErrGone) }) //nolint:contextcheck // it is the guest's own
	defer stop()
	req.Env = append(append([]string(nil), g.boot.Env...), req.Env...)
	code, err := g.of.options.Exec(ctx, &View{guest: g, user: g.user}, req)
	if errors.Is(context.Cause(ctx), engine.ErrGone) {
		return 0, engine.ErrGone
	}
	return code, err
}

// Stat describes what stands at a path.
func (g *guest) Stat(ctx context.Context, p string) (f acasemu.File, err error) {
	err = g.with(ctx, func(t *tree) error {
		n, err := t.find(p, false)
		if err == nil {
			f = n.file(path.Base(p))
		}
		return err
	})
	return f, err
}

// List describes the children of a directory.
func (g *guest) List(ctx context.Context, p string) (all []acasemu.File, err error) {
	err = g.with(ctx, func(t *tree) error {
		n, err := t.find(p, true)
		if err != nil {
			return err
		}
		if !n.mode.IsDir() {
			return engine.ErrNotDirectory
		}
		for name, child := range n.children {
			all = append(all, child.file(name))
		}
		return nil
	})
	return all, err
}

// Read streams a file. A pipe never has a writer here.
func (g *guest) Read(ctx context.Context, p string) (content io.ReadCloser, f acasemu.File, err error) {
	err = g.with(ctx, func(t *tree) error {
		n, err := t.find(p, true)
		switch {
		case err != nil:
			return err
		case n.mode.IsDir():
			return engine.ErrIsDirectory
		}
		f = n.file(path.Base(p))
		content = io.NopCloser(bytes.NewReader(n.data))
		return nil
	})
	if err == nil && !f.Mode.IsRegular() {
		<-ctx.Done()
		return nil, f, ctx.Err()
	}
	return content, f, err
}

// Write replaces a file once all of its content is there.
func (g *guest) Write(ctx context.Context, p string, content io.Reader, size int64, how acasemu.Writing) error {
	if size > g.of.options.MaxBytes {
		return engine.ErrNoSpace
	}
	data, err := io.ReadAll(io.LimitReader(content, size+1))
	if err != nil || int64(len(data)) != size {
		return engine.ErrSize
	}
	return g.with(ctx, func(t *tree) error {
		if how.Parents {
			if _, err := t.makeDirs(path.Dir(p), ""); err != nil {
				return err
			}
		}
		return t.write(p, "", data, how.Mode)
	})
}

// Mkdir makes a directory.
func (g *guest) Mkdir(ctx context.Context, p string, how acasemu.Writing) error {
	return g.with(ctx, func(t *tree) error {
		if !how.Parents {
			if _, err := t.find(path.Dir(p), true); err != nil {
				return err
			}
		}
		made, err := t.makeDirs(p, "")
		if err == nil && how.Mode != nil {
			made.mode = made.mode.Type() | how.Mode.Perm()
		}
		return err
	})
}

// Remove removes what stands at a path.
func (g *guest) Remove(ctx context.Context, p string, recursive bool) error {
	return g.with(ctx, func(t *tree) error { return t.remove(p, "", recursive) })
}
