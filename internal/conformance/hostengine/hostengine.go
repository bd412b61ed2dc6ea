//go:build linux

// Package hostengine is an engine that holds nothing: its sandboxes are this
// machine, all of them the same, and its programs this machine's own processes. It
// is for the tests of the conformance suites alone: what an attack must succeed on,
// so that the probe that makes it is known to notice. Nothing that ships imports it.
//
// Read [Options].
package hostengine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Options say how little is held.
type Options struct {
	// Naive does files as programs usually do: it follows the last component of a
	// path, writes in place, and removes what it finds when it looks.
	Naive bool
	// Through starts programs through a command and its arguments, such as one that
	// changes the user; nil starts them as they are.
	Through []string
}

// Engine keeps sandboxes until they are deleted.
type Engine struct {
	options Options

	mu    sync.Mutex
	boxes map[string]*box // by id
	made  int
}

// box is one sandbox.
type box struct {
	id, name string
	workDir  string
	labels   map[string]string

	ctx  context.Context // ends with the sandbox
	end  context.CancelFunc
	runs sync.WaitGroup
}

var _ engine.Engine = (*Engine)(nil)

// New makes an engine without sandboxes.
func New(options Options) *Engine {
	return &Engine{options: options, boxes: map[string]*box{}}
}

// Start answers the sandbox of that name.
func (e *Engine) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	if err := ctx.Err(); err != nil {
		return engine.Started{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, b := range e.boxes {
		if b.name == req.Name {
			return engine.Started{Guest: e.guest(b), Origin: sandbox.OriginAdopted, Labels: maps.Clone(b.labels)}, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(req.WorkDir), 0o755); err != nil {
		return engine.Started{}, fmt.Errorf("making the work directory: %w", err)
	}
	e.made++
	b := &box{id: "host-" + strconv.Itoa(e.made), name: req.Name, workDir: req.WorkDir, labels: maps.Clone(req.Labels)}
	b.ctx, b.end = context.WithCancel(context.WithoutCancel(ctx))
	e.boxes[b.id] = b
	return engine.Started{Guest: e.guest(b), Origin: sandbox.OriginCreated, Labels: maps.Clone(b.labels)}, nil
}

// List finds sandboxes by their labels.
func (e *Engine) List(ctx context.Context, match map[string]string) ([]engine.Listed, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var listed []engine.Listed
	for _, id := range slices.Sorted(maps.Keys(e.boxes)) {
		b := e.boxes[id]
		carries := true
		for label, value := range match {
			carries = carries && b.labels[label] == value
		}
		if carries {
			listed = append(listed, engine.Listed{ID: id, Name: b.name, Labels: maps.Clone(b.labels)})
		}
	}
	return listed, ctx.Err()
}

// Delete ends a sandbox's programs and removes its work directory.
func (e *Engine) Delete(_ context.Context, id string) error {
	e.mu.Lock()
	b := e.boxes[id]
	delete(e.boxes, id)
	e.mu.Unlock()
	if b == nil {
		return nil
	}
	b.end()
	b.runs.Wait()
	// What was planted beside it goes along.
	return errors.Join(os.RemoveAll(b.workDir), os.RemoveAll(b.workDir+"-outside"), os.RemoveAll(b.workDir+"-moved"))
}

// Access lists the one way: as this user, wherever links lead.
func (e *Engine) Access() []engine.Access {
	return []engine.Access{{As: sandbox.PrincipalGuest, Links: engine.Follow}}
}

// Abilities names what its guests implement: programs.
func (e *Engine) Abilities() engine.Abilities { return engine.Abilities{Exec: true} }

// Close returns at once: there is nothing to release.
func (e *Engine) Close(context.Context) error { return nil }

// Declarations are what a backend over the engine says of itself, which is not
// true: the suites find out.
func (e *Engine) Declarations() sandbox.Declarations {
	can := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut,
		sandbox.CapabilityFilesList, sandbox.CapabilityFilesDelete)
	return sandbox.Declarations{
		Backend: "host", Isolation: sandbox.IsolationNone,
		IsolationEvidence: sandbox.Evidence{Kind: sandbox.EvidenceProbed, Reference: "it is none"},
		Capabilities:      &can, EgressModes: sandbox.SetOf(sandbox.EgressClosed),
		OSFamilies:      sandbox.SetOf(sandbox.OSFamilyPOSIX),
		IsolationScopes: sandbox.SetOf(sandbox.ScopeConversation, sandbox.ScopeCall),
	}
}

func (e *Engine) guest(b *box) engine.Guest {
	g := &guest{e: e, b: b}
	if e.options.Naive {
		return naive{g}
	}
	return g
}
