// Package backend is the confinement layer: it makes a backend out of any
// [engine.Engine] and its declarations. Everything about paths, caps, bounds,
// identity, labels and clean-up stands here, once; an engine only does what it is
// asked.
//
// It decides no policy (a spec that reaches it was admitted), follows no link,
// truncates nothing, and shows an engine's words to nobody but the caller's own
// error chain. Read [New], then [Backend.Acquire]; files.go is what every file
// call goes through.
//
// # What is promised about links
//
// Where the engine has [engine.Beneath] the guest's kernel resolves a path in one
// step and no swap can win. Where it only has [engine.Follow], every directory
// from the root down is looked at first, with the guest frozen in between if it
// can be. An engine with neither leaves one gap: a component swapped between the
// look and the use. Such an engine should act as the guest, whose own reach is
// then all there is to gain.
package backend

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Backend serves sandboxes of one engine. Make one with [New]. Its methods may be
// called concurrently.
type Backend struct {
	engine       engine.Engine
	declarations sandbox.Declarations
	access       engine.Access
	settings     settings

	calls     calls
	locks     keyedLocks
	instances instances
	users     users

	closing sync.Mutex
	closed  bool // the engine is closed
}

// Option changes a setting of a [Backend].
type Option func(*settings)

type settings struct {
	outputLimit    int64
	listLimit      int
	cleanupTimeout time.Duration
	labelKey       []byte
}

// WithOutputLimit bounds what one program may write to each of its streams, in
// bytes; a program that writes more is stopped. The default is 1 MiB.
func WithOutputLimit(bytes int64) Option { return func(s *settings) { s.outputLimit = bytes } }

// WithListLimit bounds how many entries one directory may have to be listed; a
// larger one is refused. The default is 10,000.
func WithListLimit(entries int) Option { return func(s *settings) { s.listLimit = entries } }

// WithCleanupTimeout bounds clean-up that must happen although the caller's
// context has ended: the removal of a half-made sandbox, the thawing of a guest.
// The default is 30 seconds.
func WithCleanupTimeout(d time.Duration) Option { return func(s *settings) { s.cleanupTimeout = d } }

// WithLabelKey sets the secret from which names and label values are computed, at
// least 16 bytes. Hosts that share sandboxes share it. Without one it is derived
// from the owner, which hides ids from readers of labels who cannot guess them.
func WithLabelKey(key []byte) Option {
	return func(s *settings) { s.labelKey = append([]byte{}, key...) }
}

// New makes a backend. It refuses declarations that the engine does not bear out,
// with one [sandbox.CodeBackendNotPermitted] for every disagreement.
func New(e engine.Engine, d sandbox.Declarations, options ...Option) (*Backend, error) {
	s := settings{outputLimit: 1 << 20, listLimit: 10_000, cleanupTimeout: 30 * time.Second}
	for _, option := range options {
		option(&s)
	}
	access, refusals := verify(e, d, s)
	if len(refusals) > 0 {
		return nil, refusals
	}
	return &Backend{engine: e, declarations: d, access: access, settings: s}, nil
}

// Name is the backend's declared name.
func (b *Backend) Name() string { return b.declarations.Backend }

// Declarations are what the backend was made with.
func (b *Backend) Declarations() sandbox.Declarations { return b.declarations }

// Place is where the engine makes its sandboxes, zero where that has no name.
func (b *Backend) Place() sandbox.Place {
	if placed, ok := b.engine.(engine.Placed); ok {
		return placed.Place()
	}
	return sandbox.Place{}
}

// Close refuses new calls, waits for those in flight, streams that are still open
// included, and then closes the engine. When ctx ends first the engine is left
// open and Close may be called again. Sandboxes that can outlive the process are
// left alone; dispose them first.
func (b *Backend) Close(ctx context.Context) error {
	if err := b.calls.drain(ctx); err != nil {
		return err
	}
	b.closing.Lock()
	defer b.closing.Unlock()
	if b.closed {
		return nil
	}
	if err := b.engine.Close(ctx); err != nil {
		return fmt.Errorf("closing the engine of %s: %w", b.Name(), err)
	}
	b.closed = true
	return nil
}

// detached is a context for clean-up: it survives the caller's and has a deadline
// of its own.
func (b *Backend) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), b.settings.cleanupTimeout)
}

func capabilitiesOf(d sandbox.Declarations) sandbox.CapabilitySet {
	if d.Capabilities == nil {
		return sandbox.DefaultCapabilities()
	}
	return *d.Capabilities
}
