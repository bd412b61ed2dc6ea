package acasguests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Guests are the guests of one emulator.
type Guests struct {
	engine *process.Engine
	shelf  shelf // of snapshots
	aside  shelf // of guests that are stopped, which end with this process

	mu    sync.Mutex
	boxes map[string]*box // by the emulator's id
}

var _ acasemu.Guests = (*Guests)(nil)

// New makes guests. It starts none, and fails as [process.NewEngine] does.
func New(ctx context.Context, c Config) (*Guests, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for snapshots: %w", err)
	}
	g := &Guests{shelf: shelf{c.Dir}, boxes: map[string]*box{}}
	var err error
	if g.aside.dir, err = os.MkdirTemp("", "sandbox-stopped-"); err != nil {
		return nil, fmt.Errorf("make a directory for stopped guests: %w", err)
	}
	if err := g.open(ctx, c); err != nil {
		return nil, errors.Join(err, os.RemoveAll(g.aside.dir))
	}
	return g, nil
}

// open makes the engine.
func (g *Guests) open(ctx context.Context, c Config) error {
	world, err := newWorld(c.Resolve)
	if err != nil {
		return err
	}
	config := c.Process
	config.Images = g.image
	config.Egress.Judge = func(name string) process.EgressJudge {
		if b := g.named(name); b != nil {
			return &b.judge
		}
		return nil
	}
	config.Egress.Observer = func(id string) egress.Observer {
		name, _, _ := strings.Cut(id, "/")
		if b := g.named(name); b != nil {
			return &b.log
		}
		return nil
	}
	if world != nil {
		config.Egress.Resolver, config.Egress.Connect = world, world.connect
	}
	g.engine, _, err = process.NewEngine(ctx, config)
	return err
}

// prefix makes the engine's name of an emulator's id.
const prefix = "s-"

func (g *Guests) named(name string) *box {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.boxes[strings.TrimPrefix(name, prefix)]
}

// image is what the engine is told of the image of a sandbox that is being made.
func (g *Guests) image(_ context.Context, wanted sandbox.Image) (process.Image, error) {
	if wanted.IsZero() {
		return process.Image{Machine: true}, nil
	}
	b := g.named(prefix + wanted.Reference)
	if b == nil {
		return process.Image{}, engine.ErrGone
	}
	image := b.image
	image.Env = merge(image.Env, b.env)
	return image, nil
}

// box is the sandbox of that id, or [engine.ErrGone].
func (g *Guests) box(id string) (*box, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.boxes[id]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("no guest of this emulator: %w", engine.ErrGone)
}

// Start boots the guest of a new sandbox.
func (g *Guests) Start(ctx context.Context, boot acasemu.Boot) (err error) {
	b, err := g.newBox(boot)
	if err != nil {
		return err
	}
	g.mu.Lock()
	_, taken := g.boxes[boot.ID]
	if !taken {
		g.boxes[boot.ID] = b
	}
	g.mu.Unlock()
	if taken {
		return errors.New("a guest of this id runs")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Delete(context.WithoutCancel(ctx), boot.ID))
		}
	}()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.boot(ctx, boot.Mounts); err != nil {
		return err
	}
	b.enter(boot) //nolint:contextcheck // a sandbox's program is not its caller's
	return nil
}

// Guest is the inside of a running sandbox.
func (g *Guests) Guest(_ context.Context, id string) (acasemu.Guest, error) {
	b, err := g.box(id)
	if err != nil {
		return nil, err
	}
	return b.inside()
}

// Suspend stops a guest's programs, or ends them and keeps its files.
func (g *Guests) Suspend(ctx context.Context, id string, memory bool) error {
	b, err := g.box(id)
	if err != nil {
		return err
	}
	return b.suspend(ctx, memory)
}

// Resume undoes Suspend.
func (g *Guests) Resume(ctx context.Context, id string) error {
	b, err := g.box(id)
	if err != nil {
		return err
	}
	return b.resume(ctx)
}

// Delete ends a guest.
func (g *Guests) Delete(ctx context.Context, id string) error {
	b, err := g.box(id)
	if err != nil {
		return nil // it is gone
	}
	if err := b.remove(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.boxes, id)
	return nil
}

// Save keeps a guest's files.
func (g *Guests) Save(ctx context.Context, id, name string) (int64, error) {
	b, err := g.box(id)
	if err != nil {
		return 0, err
	}
	return b.save(ctx, name)
}

// Discard removes what Save kept.
func (g *Guests) Discard(_ context.Context, name string) error { return g.shelf.remove(name) }

// SetEgress replaces what a guest may reach, and ends what it does not admit.
func (g *Guests) SetEgress(_ context.Context, id string, e acasemu.Egress) error {
	b, err := g.box(id)
	if err != nil {
		return err
	}
	b.judge.set(e.Policy)
	b.rejudge()
	return nil
}

// Decisions is what a guest's requests were answered.
func (g *Guests) Decisions(_ context.Context, id string) (wire.DecisionLog, error) {
	b, err := g.box(id)
	if err != nil {
		return wire.DecisionLog{}, err
	}
	return b.log.read(), nil
}

// Stats is what is known of a guest's use of the machine: how long it has run.
func (g *Guests) Stats(_ context.Context, id string) (acasemu.Stats, error) {
	b, err := g.box(id)
	if err != nil {
		return acasemu.Stats{}, err
	}
	return b.stats(), nil
}

// Close ends every guest.
func (g *Guests) Close(ctx context.Context) error {
	g.mu.Lock()
	boxes := make([]*box, 0, len(g.boxes))
	for _, b := range g.boxes {
		boxes = append(boxes, b)
	}
	g.mu.Unlock()
	var errs []error
	for _, b := range boxes {
		errs = append(errs, b.remove(ctx))
	}
	return errors.Join(append(errs, g.engine.Close(ctx), os.RemoveAll(g.aside.dir))...)
}
