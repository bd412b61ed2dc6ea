package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	stdpath "path"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// guest is the seam to one sandbox.
type guest struct {
	e *Engine
	m *memory
}

// guest gives a value that implements exactly the abilities of the options.
func (e *Engine) guest(m *memory) engine.Guest {
	g := &guest{e: e, m: m}
	x, c, f := execer{g}, coder{g}, freezer{g}
	switch a := e.Abilities(); {
	case a.Exec && a.RunCode && a.Freeze:
		return struct {
			*guest
			execer
			coder
			freezer
		}{g, x, c, f}
	case a.Exec && a.RunCode:
		return struct {
			*guest
			execer
			coder
		}{g, x, c}
	case a.Exec && a.Freeze:
		return struct {
			*guest
			execer
			freezer
		}{g, x, f}
	case a.RunCode && a.Freeze:
		return struct {
			*guest
			coder
			freezer
		}{g, c, f}
	case a.Exec:
		return struct {
			*guest
			execer
		}{g, x}
	case a.RunCode:
		return struct {
			*guest
			coder
		}{g, c}
	case a.Freeze:
		return struct {
			*guest
			freezer
		}{g, f}
	}
	return g
}

// ID names the sandbox.
func (g *guest) ID() string { return g.m.id }

// at notes a file operation and runs it on the place it names, under the lock.
func (g *guest) at(ctx context.Context, op Op, ref engine.FileRef, do func(place) error) error {
	if err := g.e.note(ctx, Request{Op: op, ID: g.m.id, Ref: ref}); err != nil {
		return err
	}
	if !slices.Contains(g.e.options.Access, ref.Access) {
		return errors.New("this engine has no such access")
	}
	if ref.Path != stdpath.Clean(ref.Path) || !strings.HasPrefix(ref.Path, "/") {
		return errors.New("the path is not absolute and clean")
	}
	if ref.Access.Links == engine.Beneath && ref.Root != "/" && ref.Path != ref.Root && !strings.HasPrefix(ref.Path, ref.Root+"/") {
		return errors.New("the path is not at or below its root")
	}
	g.m.mu.Lock()
	defer g.m.mu.Unlock()
	if g.m.gone {
		return engine.ErrGone
	}
	p, err := g.m.root.find(ref.Path, ref.Access.Links)
	if err != nil {
		return err
	}
	return do(p)
}

func mayChange(n *node, as sandbox.Principal) bool {
	return n != nil && (!n.rootOnly || as == sandbox.PrincipalRoot)
}

// Stat describes a place.
func (g *guest) Stat(ctx context.Context, ref engine.FileRef) (info engine.Info, err error) {
	err = g.at(ctx, OpStat, ref, func(p place) error {
		if p.node == nil {
			return engine.ErrNotExist
		}
		info = p.node.info(p.name)
		return nil
	})
	return info, err
}

// Open streams the file as it is at each read, so that one that grows is seen to.
func (g *guest) Open(ctx context.Context, ref engine.FileRef) (r io.ReadCloser, info engine.Info, err error) {
	err = g.at(ctx, OpOpen, ref, func(p place) error {
		switch {
		case p.node == nil:
			return engine.ErrNotExist
		case p.node.kind == sandbox.EntrySymlink && ref.Access.Links == engine.Beneath:
			return engine.ErrThroughLink
		case p.node.kind != sandbox.EntryFile:
			return engine.ErrNotRegular
		}
		r, info = &stream{ctx: ctx, g: g, ref: ref, n: p.node}, p.node.info(p.name)
		return nil
	})
	return r, info, err
}

type stream struct {
	ctx    context.Context
	g      *guest
	ref    engine.FileRef
	n      *node
	offset int
	closed bool
}

func (s *stream) Read(p []byte) (int, error) {
	if err := s.g.e.note(s.ctx, Request{Op: OpRead, ID: s.g.m.id, Ref: s.ref}); err != nil {
		return 0, err
	}
	s.g.m.mu.Lock()
	defer s.g.m.mu.Unlock()
	switch {
	case s.closed:
		return 0, errors.New("the stream is closed")
	case s.g.m.gone:
		return 0, engine.ErrGone
	case s.offset >= len(s.n.data):
		return 0, io.EOF
	}
	n := copy(p, s.n.data[s.offset:])
	s.offset += n
	return n, nil
}

func (s *stream) Close() error {
	s.g.m.mu.Lock()
	defer s.g.m.mu.Unlock()
	s.closed = true
	return nil
}

// Write replaces a file once all its content is there.
func (g *guest) Write(ctx context.Context, ref engine.FileRef, content io.Reader, size int64) error {
	var data bytes.Buffer
	n, err := io.Copy(&data, content)
	if err != nil {
		return err
	}
	if n != size {
		return engine.ErrSize
	}
	return g.at(ctx, OpWrite, ref, func(p place) error {
		return g.m.put(p, data.Bytes(), ref.Access, g.e.options.MaxBytes)
	})
}

func (m *memory) put(p place, data []byte, access engine.Access, max int64) error {
	switch {
	case p.dir == nil:
		return engine.ErrIsDirectory
	case p.node != nil && p.node.kind == sandbox.EntrySymlink && access.Links == engine.Beneath:
		return engine.ErrThroughLink
	case p.node != nil && p.node.kind != sandbox.EntryFile:
		return engine.ErrNotRegular
	case !mayChange(p.dir, access.As):
		return engine.ErrPermission
	case max > 0 && m.root.size()+int64(len(data)) > max:
		return engine.ErrNoSpace
	}
	p.dir.children[p.name] = &node{kind: sandbox.EntryFile, data: data, rootOnly: access.As == sandbox.PrincipalRoot}
	return nil
}

// Mkdir makes one directory.
func (g *guest) Mkdir(ctx context.Context, ref engine.FileRef) error {
	return g.at(ctx, OpMkdir, ref, func(p place) error {
		switch {
		case p.node != nil && p.node.kind == sandbox.EntryDirectory:
			return nil
		case p.node != nil:
			return engine.ErrNotDirectory
		case !mayChange(p.dir, ref.Access.As):
			return engine.ErrPermission
		}
		p.dir.children[p.name] = newDirectory()
		return nil
	})
}

// List yields the children of a directory, in no order.
func (g *guest) List(ctx context.Context, ref engine.FileRef, yield func(engine.Info) bool) error {
	var infos []engine.Info
	err := g.at(ctx, OpReaddir, ref, func(p place) error {
		switch {
		case p.node == nil:
			return engine.ErrNotExist
		case p.node.kind == sandbox.EntrySymlink && ref.Access.Links == engine.Beneath:
			return engine.ErrThroughLink
		case p.node.kind != sandbox.EntryDirectory:
			return engine.ErrNotDirectory
		}
		for name, child := range p.node.children {
			infos = append(infos, child.info(name))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, info := range infos {
		if !yield(info) {
			return nil
		}
	}
	return nil
}

// Remove removes what stands at a place, a link as a link.
func (g *guest) Remove(ctx context.Context, ref engine.FileRef, recursive bool) error {
	return g.at(ctx, OpRemove, ref, func(p place) error {
		switch {
		case p.node == nil:
			return engine.ErrNotExist
		case p.dir == nil:
			return engine.ErrPermission
		case p.node.kind == sandbox.EntryDirectory && !recursive:
			return engine.ErrIsDirectory
		case !mayChange(p.dir, ref.Access.As):
			return engine.ErrPermission
		}
		delete(p.dir.children, p.name)
		return nil
	})
}

type execer struct{ with *guest }

// Exec runs the scripted command.
func (x execer) Exec(ctx context.Context, cmd engine.ExecRequest) (int, error) {
	if err := x.with.enterProgram(ctx, OpExec); err != nil {
		return 0, err
	}
	return x.with.e.options.Exec(ctx, x.with.view(), cmd)
}

type coder struct{ with *guest }

// RunCode runs the scripted program.
func (c coder) RunCode(ctx context.Context, req engine.CodeRequest) (int, error) {
	if err := c.with.enterProgram(ctx, OpRunCode); err != nil {
		return 0, err
	}
	return c.with.e.options.RunCode(ctx, c.with.view(), req)
}

// enterProgram waits until the guest is not frozen.
func (g *guest) enterProgram(ctx context.Context, op Op) error {
	if err := g.e.note(ctx, Request{Op: op, ID: g.m.id}); err != nil {
		return err
	}
	for {
		g.m.mu.Lock()
		gone, frozen, thawed := g.m.gone, g.m.frozen > 0, g.m.thawed
		g.m.mu.Unlock()
		switch {
		case gone:
			return engine.ErrGone
		case !frozen:
			return nil
		}
		select {
		case <-thawed:
		case <-ctx.Done():
			return engine.ErrQueued
		}
	}
}

type freezer struct{ with *guest }

// Freeze stops what the guest does until thaw.
func (f freezer) Freeze(ctx context.Context) (func(context.Context) error, error) {
	g := f.with
	if err := g.e.note(ctx, Request{Op: OpFreeze, ID: g.m.id}); err != nil {
		return nil, err
	}
	g.m.mu.Lock()
	defer g.m.mu.Unlock()
	if g.m.gone {
		return nil, engine.ErrGone
	}
	if g.m.frozen == 0 {
		g.m.thawed = make(chan struct{})
	}
	g.m.frozen++
	return func(ctx context.Context) error {
		if err := g.e.note(ctx, Request{Op: OpThaw, ID: g.m.id}); err != nil {
			return err
		}
		g.m.mu.Lock()
		defer g.m.mu.Unlock()
		if g.m.frozen--; g.m.frozen == 0 {
			close(g.m.thawed)
		}
		return nil
	}, nil
}
