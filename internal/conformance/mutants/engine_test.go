package mutants_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"strconv"
	"sync/atomic"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// brokenEngine is an engine with one thing wrong.
type brokenEngine struct {
	*sandboxtest.Engine
	start  func(engine.StartRequest) engine.StartRequest
	labels bool // answers the labels that were asked for
	keeps  bool // deletes nothing
	blind  bool // lists nothing
	origin sandbox.Origin
}

func (b brokenEngine) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	asked := maps.Clone(req.Labels)
	if b.start != nil {
		req = b.start(req)
	}
	started, err := b.Engine.Start(ctx, req)
	if err != nil {
		return started, err
	}
	if b.labels {
		started.Labels = asked
	}
	if b.origin != 0 {
		started.Origin = b.origin
	}
	return started, nil
}

func (b brokenEngine) Delete(ctx context.Context, id string) error {
	if b.keeps {
		return nil
	}
	return b.Engine.Delete(ctx, id)
}

func (b brokenEngine) List(ctx context.Context, match map[string]string) ([]engine.Listed, error) {
	if b.blind {
		return nil, nil
	}
	return b.Engine.List(ctx, match)
}

func brokenStart(b brokenEngine) inMemory {
	return inMemory{engine: func(e *sandboxtest.Engine) engine.Engine {
		b.Engine = e
		return b
	}}
}

// wrapped is a guest with one thing wrong in its files.
type wrapped struct {
	engine.Guest
	engine.CodeRunner
	ref   func(engine.FileRef) engine.FileRef
	write func(io.Reader, int64) (io.Reader, int64)
	tree  bool // removes directories unasked
	mkdir bool // makes no directory
}

func wrap(with wrapped) inMemory {
	return inMemory{guest: func(_ *sandboxtest.Engine, g engine.Guest) engine.Guest {
		w := with
		w.Guest = g
		w.CodeRunner, _ = g.(engine.CodeRunner)
		if w.ref == nil {
			w.ref = func(ref engine.FileRef) engine.FileRef { return ref }
		}
		return w
	}}
}

func (w wrapped) Stat(ctx context.Context, ref engine.FileRef) (engine.Info, error) {
	return w.Guest.Stat(ctx, w.ref(ref))
}

func (w wrapped) Open(ctx context.Context, ref engine.FileRef) (io.ReadCloser, engine.Info, error) {
	return w.Guest.Open(ctx, w.ref(ref))
}

func (w wrapped) Write(ctx context.Context, ref engine.FileRef, content io.Reader, size int64) error {
	if w.write != nil {
		content, size = w.write(content, size)
	}
	return w.Guest.Write(ctx, w.ref(ref), content, size)
}

func (w wrapped) Mkdir(ctx context.Context, ref engine.FileRef) error {
	if w.mkdir {
		return nil
	}
	return w.Guest.Mkdir(ctx, ref)
}

func (w wrapped) List(ctx context.Context, ref engine.FileRef, yield func(engine.Info) bool) error {
	return w.Guest.List(ctx, w.ref(ref), yield)
}

func (w wrapped) Remove(ctx context.Context, ref engine.FileRef, recursive bool) error {
	return w.Guest.Remove(ctx, w.ref(ref), recursive || w.tree)
}

// ascii clears the high bit of every byte.
type ascii struct{ r io.Reader }

func (a ascii) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	for i := range p[:n] {
		p[i] &= 0x7f
	}
	return n, err
}

func engineMutants() []mutant {
	var starts atomic.Int64
	return append([]mutant{
		wrap(wrapped{ref: func(ref engine.FileRef) engine.FileRef {
			ref.Access = follow
			return ref
		}}).mutant("what is said to stay beneath follows links, and nobody walks", "FILES_OUT/read-through-a-linked-parent"),
		wrap(wrapped{tree: true}).mutant("directories are removed unasked", "FILES_DELETE/a-directory-needs-recursive"),
		wrap(wrapped{write: func(content io.Reader, size int64) (io.Reader, int64) {
			return io.LimitReader(content, size/2), size / 2
		}}).mutant("writes are cut short", "FILES_IN/bytes-survive-the-round-trip"),
		wrap(wrapped{write: func(content io.Reader, size int64) (io.Reader, int64) {
			return ascii{content}, size
		}}).mutant("writes lose bytes over 127", "FILES_IN/bytes-survive-the-round-trip"),
		wrap(wrapped{mkdir: true}).mutant("no directory is made", "STORAGE_BASE/it-is-there-from-the-start"),
		brokenStart(brokenEngine{labels: true, start: func(req engine.StartRequest) engine.StartRequest {
			req.Name = "shared"
			return req
		}}).mutant("one sandbox for every key", "REUSE/two-owners-never-share"),
		brokenStart(brokenEngine{start: func(req engine.StartRequest) engine.StartRequest {
			req.Name = "s" + strconv.FormatInt(starts.Add(1), 10)
			return req
		}}).mutant("every acquire makes a sandbox", "FRESH_ACQUIRE/two-at-once-get-one-and-one-created-it"),
		brokenStart(brokenEngine{labels: true}).mutant("reuse without digests", "REUSE/another-spec-is-refused"),
		brokenStart(brokenEngine{keeps: true}).mutant("nothing is deleted", "REUSE/a-disposed-sandbox-leaves-nothing"),
		brokenStart(brokenEngine{origin: sandbox.OriginCreated}).mutant("adopted sandboxes pass for new", "FRESH_ACQUIRE/the-first-is-created-and-the-next-is-not"),
	}, codeMutants()...)
}

// codeMutants run programs of the script language wrongly.
func codeMutants() []mutant {
	run := func(name, by string, change func(ctx context.Context, v *sandboxtest.View, req engine.CodeRequest) (int, error)) mutant {
		m := inMemory{options: sandboxtest.Options{RunCode: change}}.mutant(name, by)
		m.only = []string{"RUN_CODE"}
		return m
	}
	var global atomic.Bool
	return []mutant{
		run("programs' streams are merged", "RUN_CODE/streams-and-exit-code-are-exact", func(ctx context.Context, v *sandboxtest.View, req engine.CodeRequest) (int, error) {
			req.Stderr = req.Stdout
			return sandboxtest.Script(ctx, v, req)
		}),
		run("programs' exit codes are lost", "RUN_CODE/streams-and-exit-code-are-exact", func(ctx context.Context, v *sandboxtest.View, req engine.CodeRequest) (int, error) {
			_, err := sandboxtest.Script(ctx, v, req)
			return 0, err
		}),
		run("programs get no input", "RUN_CODE/standard-input-arrives", func(ctx context.Context, v *sandboxtest.View, req engine.CodeRequest) (int, error) {
			req.Stdin = nil
			return sandboxtest.Script(ctx, v, req)
		}),
		run("a program past its deadline ended well", "RUN_CODE/a-deadline-stops-a-loop", func(ctx context.Context, v *sandboxtest.View, req engine.CodeRequest) (int, error) {
			code, err := sandboxtest.Script(ctx, v, req)
			if errors.Is(err, context.DeadlineExceeded) {
				return 0, nil
			}
			return code, err
		}),
		run("a cancelled program ended well", "RUN_CODE/a-cancelled-call-is-the-callers", func(ctx context.Context, v *sandboxtest.View, req engine.CodeRequest) (int, error) {
			code, err := sandboxtest.Script(ctx, v, req)
			if errors.Is(err, context.Canceled) {
				return 0, nil
			}
			return code, err
		}),
		run("a flood is cut without a word", "RUN_CODE/a-flood-is-stopped-and-its-beginning-kept", func(ctx context.Context, v *sandboxtest.View, req engine.CodeRequest) (int, error) {
			req.Stdout = &cut{w: req.Stdout, left: 1000}
			code, err := sandboxtest.Script(ctx, v, req)
			if errors.Is(err, io.ErrShortWrite) {
				return 0, nil
			}
			return code, err
		}),
		run("globals survive", "RUN_CODE/globals-do-not-survive-a-call", func(ctx context.Context, v *sandboxtest.View, req engine.CodeRequest) (int, error) {
			switch string(req.Source) {
			case "set x":
				global.Store(true)
			case "get x":
				if global.Load() {
					req.Source = []byte("out stale")
				}
			}
			return sandboxtest.Script(ctx, v, req)
		}),
		run("programs work elsewhere", "RUN_CODE/files-survive-a-call", func(ctx context.Context, v *sandboxtest.View, req engine.CodeRequest) (int, error) {
			req.Dir = "/elsewhere"
			return sandboxtest.Script(ctx, v, req)
		}),
	}
}

// cut takes so many bytes and no more.
type cut struct {
	w    io.Writer
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	if n < len(p) {
		_, _ = c.w.Write(p[:n])
		return n, io.ErrShortWrite
	}
	return c.w.Write(p)
}
