//go:build linux

// Package hostengine is an engine that holds nothing: its programs are this
// machine's own processes. It is for the tests of the conformance suites alone,
// twice over: as what attacks must succeed on, so that a probe is known to notice,
// and as what broken engines are made from. Nothing that ships imports it.
//
// Read [Options]. With a zero one a sandbox is the machine itself; with Wrap every
// program is started through a command, such as bubblewrap with one argument less.
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

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Options say how little is held.
type Options struct {
	// Dir is where sandboxes with a file system of their own keep it. Empty is one
	// file system for all: the machine's.
	Dir string
	// Links is how file operations are asked for; zero is [engine.Follow].
	Links engine.Links
	// Wrap answers the command that a program is started with; nil starts it as it
	// is.
	Wrap func(box Box, cmd engine.ExecRequest) []string
	// UID is the user of programs and files, for a root host; zero is this user.
	UID int
	// Inherit gives programs this process' environment.
	Inherit bool
	// Break changes each operation of a guest; nil leaves them.
	Break func(engine.Guest) engine.Guest
}

// Box is one sandbox as [Options].Wrap sees it.
type Box struct {
	// Root is the directory of this machine that is / to file operations.
	Root string
	// WorkDir is the work directory within.
	WorkDir string
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
	Box
	id, name string
	labels   map[string]string

	ctx  context.Context // ends with the sandbox
	end  context.CancelFunc
	runs sync.WaitGroup
}

var _ engine.Engine = (*Engine)(nil)

// New makes an engine without sandboxes.
func New(options Options) *Engine {
	if options.Links == 0 {
		options.Links = engine.Follow
	}
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
	e.made++
	b := &box{id: "host-" + strconv.Itoa(e.made), name: req.Name, labels: maps.Clone(req.Labels), Box: Box{Root: "/", WorkDir: req.WorkDir}}
	if e.options.Dir != "" {
		b.Root = filepath.Join(e.options.Dir, b.id)
		for _, dir := range []string{"/tmp", filepath.Dir(req.WorkDir)} {
			path := filepath.Join(b.Root, dir)
			if err := os.MkdirAll(path, 0o755); err != nil {
				return engine.Started{}, fmt.Errorf("making %s: %w", dir, err)
			}
			if err := e.give(unix.AT_FDCWD, path); err != nil {
				return engine.Started{}, fmt.Errorf("making %s: %w", dir, err)
			}
		}
	} else if err := os.MkdirAll(filepath.Dir(req.WorkDir), 0o755); err != nil {
		return engine.Started{}, fmt.Errorf("making the work directory: %w", err)
	}
	b.ctx, b.end = context.WithCancel(context.WithoutCancel(ctx))
	e.boxes[b.id] = b
	return engine.Started{Guest: e.guest(b), Origin: sandbox.OriginCreated, Labels: maps.Clone(b.labels)}, nil
}

// give makes a file the guest's.
func (e *Engine) give(dir int, name string) error {
	if e.options.UID == 0 {
		return nil
	}
	return unix.Fchownat(dir, name, e.options.UID, e.options.UID, unix.AT_SYMLINK_NOFOLLOW)
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

// Delete ends a sandbox's programs and removes its files.
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
	if e.options.Dir != "" {
		return os.RemoveAll(b.Root)
	}
	// The machine's own file system: the work directory and what was planted beside.
	return errors.Join(os.RemoveAll(b.WorkDir), os.RemoveAll(b.WorkDir+"-outside"), os.RemoveAll(b.WorkDir+"-moved"))
}

// Access is root's own, or this user's.
func (e *Engine) Access() []engine.Access {
	return []engine.Access{{As: sandbox.PrincipalGuest, Links: e.options.Links}}
}

// Abilities: programs.
func (e *Engine) Abilities() engine.Abilities { return engine.Abilities{Exec: true} }

// Close has nothing to release.
func (e *Engine) Close(context.Context) error { return nil }

// Count is how many sandboxes there are.
func (e *Engine) Count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.boxes)
}

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
	var g engine.Guest = &guest{e: e, b: b}
	if e.options.Break != nil {
		g = e.options.Break(g)
	}
	return g
}
