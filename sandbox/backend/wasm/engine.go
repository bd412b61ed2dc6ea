package wasm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"strconv"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/interp"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Engine makes sandboxes in this process's memory. They live as long as the
// engine, and no other process sees them. It implements [engine.Engine]; its
// guests implement [engine.CodeRunner].
type Engine struct {
	settings    settings
	interpreter *Interpreter // nil is the embedded one
	interp      *interp.Interpreter

	mu     sync.Mutex
	closed bool
	made   uint64
	guests map[string]*guest // by name
}

var _ engine.Engine = (*Engine)(nil)

// NewEngine makes an engine. It reads and checks a configured interpreter and
// the cache directory, and compiles nothing yet: the first [Engine.Start] does,
// for all sandboxes of the engine. Errors are [*sandbox.Refusal].
func NewEngine(config Config) (*Engine, error) {
	s, err := config.settings()
	if err != nil {
		return nil, err
	}
	e := &Engine{settings: s, guests: map[string]*guest{}}
	if config.Interpreter != nil {
		chosen := *config.Interpreter
		module, err := chosen.load()
		if err != nil {
			return nil, err
		}
		e.interpreter = &chosen
		s.interp.Yields, s.interp.Fragile = false, false
		s.interp.Module = func() ([]byte, error) { return module, nil }
	}
	e.interp = interp.New(s.interp)
	return e, nil
}

// Access says that paths are resolved in one step, as the program itself would.
func (e *Engine) Access() []engine.Access {
	return []engine.Access{{As: sandbox.PrincipalGuest, Links: engine.Beneath}}
}

// Abilities is run_code.
func (e *Engine) Abilities() engine.Abilities { return engine.Abilities{RunCode: true} }

// Start answers the sandbox of that name. The first one waits until the
// interpreter is compiled, a few seconds without a cache.
func (e *Engine) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	switch {
	case !req.Image.IsZero():
		return engine.Started{}, errors.New("wasm sandboxes are not made from images")
	case req.Egress.Mode != sandbox.EgressClosed && req.Egress.Mode != sandbox.EgressUnspecified:
		return engine.Started{}, fmt.Errorf("wasm sandboxes have no network: egress mode %v cannot be served", req.Egress.Mode)
	case !path.IsAbs(req.WorkDir) || path.Clean(req.WorkDir) != req.WorkDir || req.WorkDir == "/":
		return engine.Started{}, fmt.Errorf("work directory %s is not an absolute clean path below the root", sandbox.Echo(req.WorkDir))
	}
	if err := e.interp.Prepare(ctx); err != nil {
		return engine.Started{}, engineError(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return engine.Started{}, engine.ErrGone
	}
	if g, ok := e.guests[req.Name]; ok {
		return engine.Started{Guest: g, Origin: sandbox.OriginAdopted, Labels: maps.Clone(g.labels)}, nil
	}
	g, err := e.newGuest(req)
	if err != nil {
		return engine.Started{}, fmt.Errorf("make the work directory: %w", err)
	}
	e.guests[req.Name] = g
	return engine.Started{Guest: g, Origin: sandbox.OriginCreated, Labels: maps.Clone(g.labels)}, nil
}

// newGuest makes a sandbox; e.mu is held.
func (e *Engine) newGuest(req engine.StartRequest) (*guest, error) {
	e.made++
	g := &guest{
		engine:  e,
		id:      req.Name + "/" + strconv.FormatUint(e.made, 10),
		name:    req.Name,
		labels:  maps.Clone(req.Labels),
		workDir: req.WorkDir,
		files:   memfs.New(e.settings.limits, e.settings.clock),
	}
	g.life, g.end = context.WithCancelCause(context.Background())
	if err := g.files.Root().MkdirAll(req.WorkDir[1:]); err != nil {
		return nil, err
	}
	return g, nil
}

// List finds the sandboxes that carry every label of match.
func (e *Engine) List(ctx context.Context, match map[string]string) ([]engine.Listed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []engine.Listed
	for _, g := range e.guests {
		if g.carries(match) {
			found = append(found, engine.Listed{ID: g.id, Name: g.name, Labels: maps.Clone(g.labels)})
		}
	}
	return found, nil
}

// Delete ends the sandbox's programs, waits for them and drops its files.
func (e *Engine) Delete(ctx context.Context, id string) error {
	e.mu.Lock()
	var gone *guest
	for _, g := range e.guests {
		if g.id == id {
			gone = g
		}
	}
	e.mu.Unlock()
	if gone == nil {
		return nil
	}
	if err := gone.stop(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.guests[gone.name] == gone {
		delete(e.guests, gone.name)
	}
	return nil
}

// Close ends every program and sandbox, since none can outlive the process, and
// releases the compiled code.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	guests := e.guests
	e.guests = map[string]*guest{}
	e.mu.Unlock()
	for _, g := range guests {
		g.end(engine.ErrGone)
	}
	return e.interp.Close(ctx)
}
