package sandboxtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Options say what an [Engine] can do. The zero value is an engine for files,
// which resolves paths beneath a directory as the guest's own principal.
type Options struct {
	// Access lists the ways of asking for files; nil is guest and beneath. Give
	// {root, Follow} for an engine that is dangerous to use without care.
	Access []engine.Access
	// Exec runs a command; nil is an engine without exec. It must return soon
	// after ctx ends.
	Exec func(ctx context.Context, fs *View, req engine.ExecRequest) (exitCode int, err error)
	// RunCode evaluates a program; nil is an engine without run_code.
	RunCode func(ctx context.Context, fs *View, req engine.CodeRequest) (exitCode int, err error)
	// Freeze makes guests freezable: while frozen, programs and [View.AsGuest]
	// change nothing.
	Freeze bool
	// UID is as whom programs run. -1 is an engine that does not know: its guests
	// are asked.
	UID int64
	// MaxBytes bounds what one guest's files hold; zero is no bound.
	MaxBytes int64
}

// Op is one operation of the engine seam, for records and interception.
type Op string

// The operations. OpRead is one read of a stream that [engine.Guest] Open gave.
const (
	OpStart   Op = "start"
	OpList    Op = "list"
	OpDelete  Op = "delete"
	OpStat    Op = "stat"
	OpOpen    Op = "open"
	OpRead    Op = "read"
	OpWrite   Op = "write"
	OpMkdir   Op = "mkdir"
	OpReaddir Op = "readdir"
	OpRemove  Op = "remove"
	OpExec    Op = "exec"
	OpRunCode Op = "run_code"
	OpFreeze  Op = "freeze"
	OpThaw    Op = "thaw"
)

// Request is one call of the engine seam, as it arrived.
type Request struct {
	Op Op
	// ID is the sandbox's id; it is empty for start and list.
	ID string
	// Name is the wanted sandbox's name, for start.
	Name string
	// Ref is the place, for file operations.
	Ref engine.FileRef
}

// Engine keeps sandboxes in memory. Make one with [NewEngine].
type Engine struct {
	options Options

	mu        sync.Mutex
	sandboxes map[string]*memory // by id
	made      int
	requests  []Request
	intercept []func(Request) error
	closed    bool
}

var _ engine.Engine = (*Engine)(nil)

// memory is one sandbox.
type memory struct {
	id, name string
	labels   map[string]string
	asleep   bool

	mu     sync.Mutex
	root   *node
	gone   bool
	frozen int
	thawed chan struct{} // closed when a freeze ends
}

// NewEngine makes an engine without sandboxes.
func NewEngine(options Options) *Engine {
	if options.Access == nil {
		options.Access = []engine.Access{{As: sandbox.PrincipalGuest, Links: engine.Beneath}}
	}
	return &Engine{options: options, sandboxes: map[string]*memory{}}
}

// Intercept calls f before every operation from now on. What f returns fails the
// operation; nil lets it happen. f may change guests through [Engine.View], which
// is how a race is staged.
func (e *Engine) Intercept(f func(Request) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.intercept = append(e.intercept, f)
}

// FailNth makes the n-th operation of that name from now on fail, counted from
// one.
func (e *Engine) FailNth(op Op, n int, err error) {
	var mu sync.Mutex
	e.Intercept(func(r Request) error {
		if r.Op != op {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		n--
		if n == 0 {
			return err
		}
		return nil
	})
}

// Requests lists what was asked so far, in order.
func (e *Engine) Requests() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// Count is how many sandboxes there are.
func (e *Engine) Count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sandboxes)
}

// Labels are what the sandbox carries, nil when there is none of that id.
func (e *Engine) Labels(id string) map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.sandboxes[id]; m != nil {
		return maps.Clone(m.labels)
	}
	return nil
}

// SetLabel changes a label behind the layer's back.
func (e *Engine) SetLabel(id, label, value string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.sandboxes[id]; m != nil {
		m.labels[label] = value
	}
}

// Made is how many sandboxes were ever made.
func (e *Engine) Made() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.made
}

// Vanish removes a sandbox behind the layer's back, as a service's timer does.
func (e *Engine) Vanish(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sandboxes, id)
}

// Suspend puts a sandbox to sleep; the next start resumes it.
func (e *Engine) Suspend(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.sandboxes[id]; m != nil {
		m.asleep = true
	}
}

// note records a request and asks the interceptors.
func (e *Engine) note(ctx context.Context, r Request) error {
	e.mu.Lock()
	e.requests = append(e.requests, r)
	intercept := slices.Clone(e.intercept)
	e.mu.Unlock()
	for _, f := range intercept {
		if err := f(r); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Start answers the sandbox of that name.
func (e *Engine) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	if err := e.note(ctx, Request{Op: OpStart, Name: req.Name}); err != nil {
		return engine.Started{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return engine.Started{}, engine.ErrUnreachable
	}
	for _, m := range e.sandboxes {
		if m.name != req.Name {
			continue
		}
		origin := sandbox.OriginAdopted
		if m.asleep {
			origin, m.asleep = sandbox.OriginResumed, false
		}
		return e.started(m, origin), nil
	}
	if err := validName(req.Name); err != nil {
		return engine.Started{}, err
	}
	e.made++
	m := &memory{id: "mem-" + strconv.Itoa(e.made), name: req.Name, labels: maps.Clone(req.Labels), root: newDirectory()}
	if m.labels == nil {
		m.labels = map[string]string{}
	}
	e.sandboxes[m.id] = m
	return e.started(m, sandbox.OriginCreated), nil
}

func (e *Engine) started(m *memory, origin sandbox.Origin) engine.Started {
	return engine.Started{
		Guest: e.guest(m), Origin: origin, Labels: maps.Clone(m.labels), User: sandbox.MeasuredUser(e.options.UID),
	}
}

// validName holds callers to the grammar of [engine.StartRequest].
func validName(name string) error {
	for i, r := range name {
		letter, other := r >= 'a' && r <= 'z', r >= '0' && r <= '9' || r == '-'
		if !letter && (i == 0 || !other) {
			return fmt.Errorf("sandbox name %q: %w", name, engine.ErrRefused)
		}
	}
	if name == "" || len(name) > 63 {
		return fmt.Errorf("sandbox name of %d bytes: %w", len(name), engine.ErrRefused)
	}
	return nil
}

// List finds sandboxes by their labels.
func (e *Engine) List(ctx context.Context, match map[string]string) ([]engine.Listed, error) {
	if err := e.note(ctx, Request{Op: OpList}); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var listed []engine.Listed
	for _, id := range slices.Sorted(maps.Keys(e.sandboxes)) {
		m := e.sandboxes[id]
		if carries(m.labels, match) {
			listed = append(listed, engine.Listed{ID: id, Name: m.name, Labels: maps.Clone(m.labels)})
		}
	}
	return listed, nil
}

func carries(labels, match map[string]string) bool {
	for label, value := range match {
		if carried, ok := labels[label]; !ok || carried != value {
			return false
		}
	}
	return true
}

// Delete ends a sandbox; an unknown id is success.
func (e *Engine) Delete(ctx context.Context, id string) error {
	if err := e.note(ctx, Request{Op: OpDelete, ID: id}); err != nil {
		return err
	}
	e.mu.Lock()
	m := e.sandboxes[id]
	delete(e.sandboxes, id)
	e.mu.Unlock()
	if m != nil {
		m.mu.Lock()
		m.gone = true
		m.mu.Unlock()
	}
	return nil
}

// Access lists the configured ways of asking for files.
func (e *Engine) Access() []engine.Access { return slices.Clone(e.options.Access) }

// Abilities follow from the options.
func (e *Engine) Abilities() engine.Abilities {
	return engine.Abilities{Exec: e.options.Exec != nil, RunCode: e.options.RunCode != nil, Freeze: e.options.Freeze}
}

// Close refuses further starts.
func (e *Engine) Close(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return nil
}
