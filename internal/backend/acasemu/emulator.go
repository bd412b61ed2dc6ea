package acasemu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/fault"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// Emulator answers requests to both planes. It is an [http.Handler], and starts
// nothing by itself: [Emulator.Listen] serves it over TLS, [Emulator.Transport] in
// this process.
type Emulator struct {
	cfg      Config
	store    *store.Store
	routes   *routes
	handlers map[wire.Op]handler
	images   map[string]KnownImage
	faults   fault.Set
	log      *requestLog
	busy     busy
	gates    gates
	owned    owned

	life context.Context
	end  context.CancelFunc
	// mu guards closed, so that nothing is added to work once it is waited for.
	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// handler answers one operation. An error is a [*refusal], or the emulator's own
// failure.
type handler func(context.Context, *call) (answer, error)

// New makes an emulator and touches nothing, the state file neither.
func New(cfg Config) (*Emulator, error) {
	cfg = cfg.complete()
	kept, err := store.New(store.Options{Path: cfg.State, Wait: cfg.StateWait})
	if err != nil {
		return nil, fmt.Errorf("an emulator: %w", err)
	}
	e := &Emulator{cfg: cfg, store: kept, routes: newRoutes(wire.Ops()), log: newRequestLog(cfg.Log), images: map[string]KnownImage{}}
	for _, image := range cfg.Images {
		e.images[image.Reference] = image
	}
	e.handlers = e.table()
	e.life, e.end = context.WithCancel(context.Background())
	for _, text := range cfg.Faults {
		if err := e.Fault(text); err != nil {
			e.end()
			return nil, err
		}
	}
	return e, nil
}

// Check opens the state file, and makes it where it is not there: whoever serves the
// emulator learns at once that it can keep nothing.
func (e *Emulator) Check(ctx context.Context) error { return e.store.Check(ctx) }

// Fault switches a fault on; see package fault for the notation.
func (e *Emulator) Fault(text string) error {
	f, err := fault.Parse(text)
	if err != nil {
		return err
	}
	e.faults.Add(f)
	return nil
}

// ClearFaults switches all faults off.
func (e *Emulator) ClearFaults() { e.faults.Clear() }

// Requests are the last requests that arrived, the oldest first.
func (e *Emulator) Requests() []Exchange { return e.log.all() }

// ClearRequests forgets them.
func (e *Emulator) ClearRequests() { e.log.clear() }

// Close ends what is under way and the guests, and waits for them as long as ctx
// lasts. Requests that come later are answered 503.
func (e *Emulator) Close(ctx context.Context) error {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	e.mu.Unlock()
	e.end()
	if !first {
		return nil
	}
	idle := make(chan struct{})
	go func() { e.work.Wait(); close(idle) }()
	var late error
	select {
	case <-idle:
	case <-ctx.Done():
		late = fmt.Errorf("the emulator's requests did not end: %w", ctx.Err())
	}
	return errors.Join(late, e.cfg.Guests.Close(ctx))
}

// begin counts a piece of work that Close waits for; it reports false once the
// emulator is closing.
func (e *Emulator) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.work.Add(1)
	return true
}

// workBound is how long the work of one request may go on without its client.
const workBound = 15 * time.Minute

// detached is a context for work that the service would finish although its client
// went away. It ends with the emulator.
func (e *Emulator) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workBound)
	stop := context.AfterFunc(e.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// ServeHTTP answers one request.
func (e *Emulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.begin() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer e.work.Done()
	e.serve(w, r)
}

// FaultNames lists the faults that have a name, with what each is short for.
func FaultNames() []string {
	presets := fault.Presets()
	all := make([]string, 0, len(presets))
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		all = append(all, fmt.Sprintf("%-14s %s", name, presets[name]))
	}
	return all
}
