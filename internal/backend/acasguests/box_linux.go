package acasguests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// box is one sandbox, from its start to its deletion.
type box struct {
	guests  *Guests
	id      string
	workDir string
	memory  int64
	disk    int64
	image   process.Image
	env     []string // the sandbox's own, which may be secret and is kept nowhere
	began   time.Time
	judge   judge
	log     decisions

	mu      sync.Mutex
	guest   process.RootGuest // nil while only its files are kept
	release func(context.Context) error
	kept    bool // aside, as a guest whose programs are gone
	mounts  []acasemu.Mount
	program context.CancelFunc // ends the image's own program
	running sync.WaitGroup
}

// newBox finds out what a sandbox is made from.
func (g *Guests) newBox(boot acasemu.Boot) (*box, error) {
	b := &box{
		guests: g, id: boot.ID, workDir: boot.WorkDir, env: boot.Env, memory: boot.MemoryBytes, disk: boot.DiskBytes, began: time.Now(),
	}
	b.judge.set(boot.Egress.Policy)
	var err error
	switch i := boot.Image; {
	case i.Saved != "":
		b.image, err = g.shelf.image(i.Saved)
	case i.Layout != "":
		b.image, err = layoutImage(i.Layout, i.Reference)
	default:
		b.image = process.Image{Machine: true}
	}
	if err != nil {
		return nil, err
	}
	if boot.Image.User != "" {
		b.image.User = boot.Image.User
	}
	return b, nil
}

// merge sets more variables, over those of the same name.
func merge(env, more []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.ContainsFunc(more, func(m string) bool { return strings.HasPrefix(m, name+"=") })
	})
	return append(env, more...)
}

// boot starts the guest from its image. Whoever calls it holds the lock.
func (b *box) boot(ctx context.Context, mounts []acasemu.Mount) error {
	started, err := b.guests.engine.Start(ctx, engine.StartRequest{
		Name: prefix + b.id, Image: sandbox.Image{Reference: b.id}, WorkDir: b.workDir,
		Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: b.judge.opened()},
	})
	if r := sandbox.RefusalOf(err); r != nil && errors.Is(r, sandbox.ErrUnsupported) {
		return &acasemu.Unsupported{Title: "GuestNotPlayed", Detail: r.Error()}
	}
	if err != nil {
		return fmt.Errorf("start a guest: %w", err)
	}
	guest, ok := started.Guest.(process.RootGuest)
	if !ok {
		return errors.New("a guest without a root")
	}
	b.guest = guest
	for _, m := range mounts {
		if err := b.mount(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// enter starts what the sandbox is made to run. What becomes of it is its own: a
// sandbox goes on without. Whoever calls it holds the lock.
func (b *box) enter(boot acasemu.Boot) {
	args := slices.Concat(boot.Entrypoint, boot.Cmd)
	if len(args) == 0 {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	guest := b.guest
	b.program = end
	b.running.Go(func() { _, _ = guest.Exec(ctx, engine.ExecRequest{Args: args, Dir: b.workDir}) })
}

// inside is the guest of a running sandbox.
func (b *box) inside() (*inside, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.guest == nil {
		return nil, engine.ErrGone
	}
	return &inside{guest: b.guest, workDir: b.workDir}, nil
}

// suspend stops the programs, or ends them.
func (b *box) suspend(ctx context.Context, memory bool) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.guest == nil || b.release != nil:
		return nil
	case memory:
		b.release, err = b.guest.Hold(ctx)
		return err
	}
	if _, err := b.keep(ctx, b.guests.aside, b.id); err != nil {
		return err
	}
	b.kept = true
	return b.end(ctx)
}

// keep writes the files of a guest to a shelf.
func (b *box) keep(ctx context.Context, on shelf, name string) (int64, error) {
	return on.write(name, b.image, func(to io.Writer) error { return b.guest.Snapshot(ctx, to) })
}

// end ends the guest.
func (b *box) end(ctx context.Context) error {
	if b.guest == nil {
		return nil
	}
	if err := b.guests.engine.Delete(ctx, b.guest.ID()); err != nil {
		return err
	}
	if b.program != nil {
		b.program()
		b.program = nil
	}
	b.running.Wait() // whose guest is gone
	b.guest, b.release = nil, nil
	return nil
}

// resume lets the programs go on, or starts a guest with the files that were kept.
func (b *box) resume(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.release != nil:
		if err := b.release(ctx); err != nil {
			return err
		}
		b.release = nil
		return nil
	case !b.kept:
		return nil
	}
	if err := b.end(ctx); err != nil { // of a suspension or a start that failed half-way
		return err
	}
	image, err := b.guests.aside.image(b.id)
	if err != nil {
		return err
	}
	mounts := b.mounts
	b.image, b.mounts = image, nil
	if err := b.boot(ctx, mounts); err != nil {
		b.mounts = mounts
		return errors.Join(err, b.end(ctx))
	}
	b.kept = false
	return b.guests.aside.remove(b.id)
}

// save copies the files aside.
func (b *box) save(ctx context.Context, name string) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.kept:
		return b.guests.aside.copy(b.id, b.guests.shelf, name)
	case b.guest == nil:
		return 0, engine.ErrGone
	}
	return b.keep(ctx, b.guests.shelf, name)
}

// remove ends the guest and forgets what was kept of it.
func (b *box) remove(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.end(ctx); err != nil {
		return err
	}
	return b.guests.aside.remove(b.id)
}

// rejudge ends what the policy in force does not admit.
func (b *box) rejudge() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.guest != nil {
		b.guest.Rejudge()
	}
}

func (b *box) stats() acasemu.Stats {
	return acasemu.Stats{MemoryTotal: b.memory, DiskTotal: b.disk, Up: time.Since(b.began)}
}
