// Package memguests are guests in memory for tests of what talks to an emulator:
// their file plane is the service's, links, pipes and root included, and their
// commands are a function of the test's.
//
// They confine nothing and run nothing by themselves. Read [New], [Options] and
// [View].
package memguests

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Options say what guests can do.
type Options struct {
	// Exec runs a command; nil is guests without. It must return soon after ctx ends.
	Exec func(ctx context.Context, v *View, req engine.ExecRequest) (exitCode int, err error)
	// MaxBytes bounds what the files of one guest hold; zero is 256 MiB.
	MaxBytes int64
	// Now tells the time that files are written at; nil is the system's.
	Now func() time.Time
}

const defaultBytes = 256 << 20

// Guests are sandboxes in memory. Make them with [New].
type Guests struct {
	options Options

	mu     sync.Mutex
	guests map[string]*guest
	// saved are copies by name, volumes the files of directories that were mounted.
	saved, volumes map[string]*node
	// files guards what is inside all guests: volumes are in several.
	files sync.Mutex
}

var _ acasemu.Guests = (*Guests)(nil)

// New makes guests, none of which exists yet.
func New(o Options) *Guests {
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Guests{options: o, guests: map[string]*guest{}, saved: map[string]*node{}, volumes: map[string]*node{}}
}

// guest is one sandbox's inside.
type guest struct {
	of   *Guests
	boot acasemu.Boot
	user string

	mu   *sync.Mutex // that of all guests
	tree *tree
	// running ends when programs do: the guest is suspended without its memory, or
	// deleted.
	running context.Context
	end     context.CancelFunc
	gone    bool
	asleep  bool
	egress  acasemu.Egress
}

// Start makes a guest with the few directories that every image has.
func (g *Guests) Start(_ context.Context, boot acasemu.Boot) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, exists := g.guests[boot.ID]; exists {
		return fmt.Errorf("guest %s exists", boot.ID)
	}
	root := base(g.options.Now())
	if boot.Image.Saved != "" {
		copied, ok := g.saved[boot.Image.Saved]
		if !ok {
			return engine.ErrGone
		}
		root = copied.clone()
	}
	made := &guest{of: g, mu: &g.files, boot: boot, user: boot.Image.User, tree: &tree{root: root, most: g.options.MaxBytes, now: g.options.Now}}
	made.running, made.end = context.WithCancel(context.Background())
	made.egress = boot.Egress
	for _, m := range boot.Mounts {
		if err := made.tree.mount(g.volume(m.Dir), m); err != nil {
			made.end()
			return err
		}
	}
	g.guests[boot.ID] = made
	return nil
}

func (g *Guests) volume(dir string) *node {
	if g.volumes[dir] == nil {
		g.volumes[dir] = directory(g.options.Now(), 0o777)
	}
	return g.volumes[dir]
}

func (g *Guests) find(id string) (*guest, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if found := g.guests[id]; found != nil {
		return found, nil
	}
	return nil, engine.ErrGone
}

// Guest is the inside of a guest that is awake.
func (g *Guests) Guest(_ context.Context, id string) (acasemu.Guest, error) {
	found, err := g.find(id)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Suspend puts a guest to sleep; without memory its programs end.
func (g *Guests) Suspend(_ context.Context, id string, memory bool) error {
	found, err := g.find(id)
	if err != nil {
		return err
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	found.asleep = true
	if !memory {
		found.end()
		found.running, found.end = context.WithCancel(context.Background())
	}
	return nil
}

// Resume wakes a guest.
func (g *Guests) Resume(_ context.Context, id string) error {
	found, err := g.find(id)
	if err != nil {
		return err
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	found.asleep = false
	return nil
}

// Delete ends a guest's programs and forgets it.
func (g *Guests) Delete(_ context.Context, id string) error {
	g.mu.Lock()
	found := g.guests[id]
	delete(g.guests, id)
	g.mu.Unlock()
	if found != nil {
		found.mu.Lock()
		defer found.mu.Unlock()
		found.gone = true
		found.end()
	}
	return nil
}

// Save copies a guest's files.
func (g *Guests) Save(_ context.Context, id, name string) (int64, error) {
	found, err := g.find(id)
	if err != nil {
		return 0, err
	}
	found.mu.Lock()
	copied, size := found.tree.root.clone(), found.tree.root.bytes()
	found.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.saved[name] = copied
	return size, nil
}

// Discard forgets a copy.
func (g *Guests) Discard(_ context.Context, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.saved, name)
	return nil
}

// Mount adds a volume, which all guests that have it share.
func (g *Guests) Mount(_ context.Context, id string, m acasemu.Mount) error {
	found, err := g.find(id)
	if err != nil {
		return err
	}
	g.mu.Lock()
	volume := g.volume(m.Dir)
	g.mu.Unlock()
	found.mu.Lock()
	defer found.mu.Unlock()
	return found.tree.mount(volume, m)
}

// SetEgress remembers a policy. These guests reach nothing.
func (g *Guests) SetEgress(_ context.Context, id string, e acasemu.Egress) error {
	found, err := g.find(id)
	if err != nil {
		return err
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	found.egress = e
	return nil
}

// Egress is the policy that a guest has, for tests to look at.
func (g *Guests) Egress(id string) (acasemu.Egress, bool) {
	found, err := g.find(id)
	if err != nil {
		return acasemu.Egress{}, false
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	return found.egress, true
}

// Decisions are none.
func (g *Guests) Decisions(context.Context, string) (wire.DecisionLog, error) {
	return wire.DecisionLog{}, nil
}

// Stats are how much a guest's files hold.
func (g *Guests) Stats(_ context.Context, id string) (acasemu.Stats, error) {
	found, err := g.find(id)
	if err != nil {
		return acasemu.Stats{}, err
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	return acasemu.Stats{DiskUsed: found.tree.root.bytes()}, nil
}

// IDs are the guests that exist, in order: for tests that nothing is left.
func (g *Guests) IDs() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids := make([]string, 0, len(g.guests))
	for id := range g.guests {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Close ends every guest.
func (g *Guests) Close(ctx context.Context) error {
	for _, id := range g.IDs() {
		if err := g.Delete(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
