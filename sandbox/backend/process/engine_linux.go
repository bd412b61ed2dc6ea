package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/cgroup"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/gvisor"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/launch"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Engine makes sandboxes of this process's own. They end with the engine or with
// the process, and no other process serves them. It implements [engine.Engine];
// its guests implement [engine.Execer].
type Engine struct {
	host   *host
	config Config

	// life ends when the engine closes: a sandbox that is just being made is not.
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	closing bool
	made    uint64
	guests  map[string]*guest // by name
	watched sync.WaitGroup
}

var _ engine.Engine = (*Engine)(nil)

// cleanupTime bounds what must be done although a caller's context has ended.
const cleanupTime = 30 * time.Second

// Access says that the guest's kernel resolves paths in one step, as the guest; or
// as its root, then also through links.
func (e *Engine) Access() []engine.Access {
	if e.config.Images != nil {
		return guestagent.RootAccess()
	}
	return []engine.Access{{As: sandbox.PrincipalGuest, Links: engine.Beneath}}
}

// Abilities is exec.
func (e *Engine) Abilities() engine.Abilities { return engine.Abilities{Exec: true} }

// Start answers the sandbox of that name.
func (e *Engine) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	switch {
	case !req.Image.IsZero() && e.config.Images == nil:
		return engine.Started{}, errors.New("process sandboxes are not made from images")
	case req.Egress.Mode > sandbox.EgressAllowlist:
		return engine.Started{}, fmt.Errorf("process sandboxes have no network of their own: egress mode %v cannot be served", req.Egress.Mode)
	case req.OSFamily != sandbox.OSFamilyPOSIX && req.OSFamily != sandbox.OSFamilyUnspecified:
		return engine.Started{}, fmt.Errorf("process sandboxes are POSIX: %v cannot be served", req.OSFamily)
	}
	g, id, err := e.enter(ctx, req.Name)
	if err != nil {
		return engine.Started{}, err
	}
	if g != nil {
		return g.adopt(req)
	}
	defer e.watched.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.life, func() { cancel(engine.ErrGone) })() //nolint:contextcheck // the engine's end is another's

	g, err = e.make(ctx, id, req)
	if err != nil {
		return engine.Started{}, err
	}
	if !e.admit(g) { //nolint:contextcheck // a sandbox's life is not its caller's
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		return engine.Started{}, errors.Join(engine.ErrGone, g.remove(undo))
	}
	return engine.Started{Guest: g, Origin: sandbox.OriginCreated, Labels: maps.Clone(g.labels)}, nil
}

// admit makes a new sandbox one of the engine's, unless that closes already.
func (e *Engine) admit(g *guest) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return false
	}
	e.guests[g.name] = g
	e.watched.Go(func() { e.watch(g) })
	return true
}

// enter answers the sandbox there is, or counts the one that is to be made: then
// the caller owes a Done.
func (e *Engine) enter(ctx context.Context, name string) (g *guest, id uint64, err error) {
	for {
		e.mu.Lock()
		if e.closing {
			e.mu.Unlock()
			return nil, 0, engine.ErrGone
		}
		g := e.guests[name]
		if g == nil {
			e.made++
			id := e.made
			e.watched.Add(1)
			e.mu.Unlock()
			return nil, id, nil
		}
		e.mu.Unlock()
		if !g.lost() {
			return g, 0, nil
		}
		if err := g.remove(ctx); err != nil {
			return nil, 0, err
		}
		e.forget(g)
	}
}

// make makes a sandbox. On an error nothing of it is left.
func (e *Engine) make(ctx context.Context, id uint64, req engine.StartRequest) (_ *guest, err error) {
	g := &guest{
		removing: make(chan struct{}, 1),
		engine:   e, name: req.Name, labels: maps.Clone(req.Labels), workDir: req.WorkDir, egress: req.Egress,
		id: req.Name + "/" + e.host.owner.ID + "-" + strconv.FormatUint(id, 10),
	}
	defer func() {
		if err != nil {
			undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
			defer cancel()
			err = errors.Join(err, g.remove(undo))
		}
	}()
	request := launch.Request{Dir: req.WorkDir, Limits: e.rlimits()}
	if g.root, err = e.root(ctx, req.Image); err != nil {
		return nil, err
	}
	if g.user, err = e.host.users.take(); err != nil {
		return nil, err
	}
	if err := g.root.admit(e.host.users); err != nil {
		return nil, err
	}
	if request.Root = g.root.request(g.user, e.config.rootBytes()); request.Root != nil {
		request.Dir = "/" // the other is yet to be made
	}
	if g.outlet, err = e.openOutlet(ctx, g, req.Egress); err != nil {
		return nil, err
	}
	if request.View, err = e.sees(g, req.WorkDir); err != nil {
		return nil, err
	}
	request.Credential = g.user.credential()
	if e.host.group != nil {
		if g.group, err = e.host.group.New(ctx, strconv.FormatUint(id, 10), e.config.limits()); err != nil {
			return nil, err
		}
		request.Group = g.group
	}
	if g.sandbox, err = e.host.launcher.Launch(ctx, request); err != nil {
		return nil, err
	}
	g.Client, err = guestagent.Connect(ctx, g.sandbox.Out, g.sandbox.In, g.root.options())
	if err != nil {
		if words := g.sandbox.Words(); words != "" {
			err = fmt.Errorf("%w (%.300q)", err, words)
		}
		return nil, err
	}
	if err := g.root.furnish(ctx, g.Client, req.WorkDir); err != nil {
		return nil, err
	}
	return g, g.outlet.connect(ctx, g.Client)
}

// limits are what a sandbox's cgroup enforces.
func (c Config) limits() cgroup.Limits {
	limits := cgroup.Limits{MemoryBytes: c.MemoryBytes, Processes: c.Processes, CPUPercent: c.CPUPercent}
	if c.Runtime == RuntimeGVisor {
		limits.Processes = gvisor.HostProcesses(c.Processes)
	}
	return limits
}

// rlimits are what each of its processes is held to beside that, or instead.
func (e *Engine) rlimits() launch.Limits {
	c := e.config
	limits := launch.Limits{Processes: c.Processes, FileBytes: max(c.WorkBytes, c.TmpBytes, c.SharedBytes)}
	if c.Images != nil {
		limits.FileBytes = max(c.rootBytes(), c.SharedBytes)
	}
	if e.host.group == nil {
		// A runtime that reserves its memory beforehand has this much counted at
		// its start, whatever it uses.
		const reserved = 256 << 20
		limits.DataBytes = max(c.MemoryBytes, reserved)
	}
	return limits
}

// watch ends a sandbox whose agent is lost. No other agent is ever started in it.
func (e *Engine) watch(g *guest) {
	select {
	case <-g.Done():
	case <-g.sandbox.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTime)
	defer cancel()
	if err := g.remove(ctx); err != nil {
		e.config.Notice("a sandbox whose agent was lost could not be removed: " + err.Error())
		return
	}
	e.forget(g)
}

func (e *Engine) forget(g *guest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.guests[g.name] == g {
		delete(e.guests, g.name)
	}
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

// Delete ends the sandbox and returns when nothing of it runs or is left.
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
	if err := gone.remove(ctx); err != nil {
		return err
	}
	e.forget(gone)
	return nil
}

// Close ends every sandbox, since none can outlive the process, and removes what
// the engine made. When ctx ends first it may be called again.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closing = true
	guests := make([]*guest, 0, len(e.guests))
	for _, g := range e.guests {
		guests = append(guests, g)
	}
	e.mu.Unlock()
	e.end()
	var errs []error
	for _, g := range guests {
		if err := g.remove(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		e.forget(g)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	idle := make(chan struct{})
	go func() {
		e.watched.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		return fmt.Errorf("wait for sandboxes that are being made: %w", context.Cause(ctx))
	}
	return e.host.close(ctx)
}

// credential is nil for whoever runs this process.
func (u *user) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.id, Gid: u.id}
}
