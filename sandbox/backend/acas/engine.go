package acas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasegress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// LabelName carries the name that the engine knows a sandbox by: the service names
// sandboxes itself.
const LabelName = sandbox.ReservedLabelPrefix + "name"

// cleanup bounds the removal of what was made for nothing.
const cleanup = 45 * time.Second

// Engine makes sandboxes in one group. They outlive the process, and every host that
// has the group's credential sees them. It implements [engine.Engine]; its guests
// implement [engine.Execer].
type Engine struct {
	config Config
	client *acasapi.Client
	group  *acasapi.Group
	arm    *acasapi.Client // for the group itself

	mu   sync.Mutex
	lost map[string]bool // ids in which a program may still run that nobody waits for
}

var (
	_ engine.Engine = (*Engine)(nil)
	_ engine.Placed = (*Engine)(nil)
)

// NewEngine checks the configuration and sends nothing. Errors are
// [*sandbox.Refusal].
func NewEngine(config Config) (*Engine, error) {
	config, err := config.settings()
	if err != nil {
		return nil, err
	}
	client, arm, err := config.clients()
	if err != nil {
		return nil, err
	}
	group, err := client.Group(acasapi.GroupID{Subscription: config.Subscription, ResourceGroup: config.ResourceGroup, Name: config.Group})
	if err != nil {
		return nil, err
	}
	return &Engine{config: config, client: client, group: group, arm: arm, lost: map[string]bool{}}, nil
}

// Place is the group, and the endpoint that the host's configuration gave.
func (e *Engine) Place() sandbox.Place {
	endpoint, _ := e.client.Endpoint(wire.Data)
	return sandbox.Place{Group: e.group.ID().String(), Endpoint: endpoint}
}

// Access says that the file plane is root and follows links.
func (e *Engine) Access() []engine.Access {
	return []engine.Access{{As: sandbox.PrincipalRoot, Links: engine.Follow}}
}

// Abilities is exec.
func (e *Engine) Abilities() engine.Abilities { return engine.Abilities{Exec: true} }

// Start answers the sandbox of that name: the one that exists, woken if it sleeps, or
// a new one. Hosts that start one name within the same second of the service's clock
// may each make one; the next start of that name finds the same one from everywhere.
// A sandbox is served only when its egress was read back and is what was
// asked, and while the group has no identity. What was made and is not served is deleted again; what was found and is not
// served is left alone.
func (e *Engine) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	compiled, findings := acasegress.Compile(req.Egress, e.config.version())
	if err := sandbox.Decide(findings).Err(); err != nil {
		return engine.Started{}, err
	}
	if err := e.withoutIdentity(ctx); err != nil {
		return engine.Started{}, err
	}
	found, err := e.named(ctx, req.Name)
	if err != nil {
		return engine.Started{}, err
	}
	if len(found) > 0 {
		return e.adopt(ctx, found[0], req.Labels, compiled)
	}
	return e.create(ctx, req, compiled)
}

// version is the one that every shipping client speaks.
func (Config) version() wire.Version { return wire.V0201 }

// named are the sandboxes of a name that can be used, the first made first: whoever
// looks comes to the same one.
func (e *Engine) named(ctx context.Context, name string) ([]wire.Sandbox, error) {
	var found []wire.Sandbox
	for doc, err := range e.group.Sandboxes(ctx, wire.Labels{LabelName: name}) {
		if err != nil {
			return nil, engineError("look for sandbox "+name, err)
		}
		if e.usable(doc) {
			found = append(found, doc)
		}
	}
	slices.SortFunc(found, func(a, b wire.Sandbox) int {
		return cmp.Or(madeAt(a).Compare(madeAt(b)), cmp.Compare(a.ID, b.ID))
	})
	return found, nil
}

func (e *Engine) usable(doc wire.Sandbox) bool {
	return !wire.SameState(doc.State, wire.StateDeleting, wire.StateFailed, wire.StateStopFailed) && !e.isLost(doc.ID)
}

// madeAt is when a sandbox was made; one that does not say so comes last.
func madeAt(doc wire.Sandbox) time.Time {
	if at, err := time.Parse(time.RFC3339, doc.CreatedAt); err == nil {
		return at
	}
	return time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)
}

// adopt answers a sandbox that exists. One with other labels is answered as it is,
// not woken, for the layer above to refuse by the labels that differ.
func (e *Engine) adopt(ctx context.Context, doc wire.Sandbox, labels map[string]string, compiled acasegress.Compiled) (engine.Started, error) {
	s, err := e.group.Sandbox(doc.ID)
	if err != nil {
		return engine.Started{}, err
	}
	g := &guest{engine: e, sandbox: s}
	if !doc.Labels.Has(labels) {
		return engine.Started{Guest: g, Origin: sandbox.OriginAdopted, Labels: ownLabels(doc.Labels)}, nil
	}
	if err := inspect(doc, compiled); err != nil { // before it may run again
		return engine.Started{}, err
	}
	origin := sandbox.OriginAdopted
	if !wire.SameState(doc.State, wire.StateRunning) {
		origin = sandbox.OriginResumed
		if _, err := s.Resume(ctx, acasapi.Wait{}); err != nil {
			return engine.Started{}, engineError("wake sandbox "+s.ID(), err)
		}
	}
	return e.checked(ctx, g, origin, compiled)
}

// checked reads the sandbox and holds it against what was asked.
func (e *Engine) checked(ctx context.Context, g *guest, origin sandbox.Origin, compiled acasegress.Compiled) (engine.Started, error) {
	doc, err := g.sandbox.Get(ctx)
	if err != nil {
		return engine.Started{}, engineError("read sandbox "+g.ID()+" back", err)
	}
	if err := inspect(doc, compiled); err != nil {
		return engine.Started{}, err
	}
	return engine.Started{Guest: g, Origin: origin, Labels: ownLabels(doc.Labels)}, nil
}

// create makes a sandbox and checks it before anybody sees it.
func (e *Engine) create(ctx context.Context, req engine.StartRequest, compiled acasegress.Compiled) (engine.Started, error) {
	source, err := e.source(ctx, req.Image)
	if err != nil {
		return engine.Started{}, err
	}
	labels := wire.Labels(maps.Clone(req.Labels))
	if labels == nil {
		labels = wire.Labels{}
	}
	labels[LabelName] = req.Name
	made, err := e.group.CreateSandbox(ctx, wire.CreateSandbox{
		SourcesRef:   &source,
		Resources:    &wire.Resources{CPU: e.config.CPU, Memory: e.config.Memory},
		Labels:       labels,
		EgressPolicy: &compiled.Policy,
		Lifecycle: &wire.Lifecycle{
			AutoSuspend: &wire.AutoSuspend{Enabled: true, Interval: int(e.config.SuspendAfter / time.Second), Mode: wire.SuspendMemory},
			AutoDelete:  &wire.AutoDelete{Enabled: true, DeleteIntervalInSeconds: int(e.config.DeleteAfter / time.Second), Trigger: "AfterSuspend"},
		},
	}, acasapi.Making{})
	if err != nil {
		return engine.Started{}, engineError("make a sandbox", err)
	}
	started, err := e.first(ctx, made.ID, req, compiled)
	if err != nil || started.Guest.ID() != made.ID {
		if left := e.discard(ctx, made.ID); left != nil {
			return engine.Started{}, errors.Join(err, left)
		}
	}
	return started, err
}

// first checks what was just made, and gives way to a sandbox of the same name that
// another host made before it.
func (e *Engine) first(ctx context.Context, id string, req engine.StartRequest, compiled acasegress.Compiled) (engine.Started, error) {
	s, err := e.group.Sandbox(id)
	if err != nil {
		return engine.Started{}, err
	}
	started, err := e.checked(ctx, &guest{engine: e, sandbox: s}, sandbox.OriginCreated, compiled)
	if err != nil {
		return engine.Started{}, err
	}
	found, err := e.named(ctx, req.Name)
	if err != nil {
		return engine.Started{}, err
	}
	if len(found) > 1 && found[0].ID != id {
		return e.adopt(ctx, found[0], req.Labels, compiled)
	}
	return started, nil
}

// discard removes what was made for nothing, after ctx may have ended.
func (e *Engine) discard(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	if err := e.Delete(ctx, id); err != nil {
		return fmt.Errorf("sandbox %s was made for nothing and could not be removed: %w", sandbox.Echo(id), err)
	}
	return nil
}

// ownLabels are the labels without those of the engine and its client.
func ownLabels(all wire.Labels) map[string]string {
	own := maps.Clone(map[string]string(all))
	delete(own, LabelName)
	delete(own, acasapi.MarkerLabel)
	return own
}

// List finds the sandboxes that carry every label of match, those that are on their
// way out excepted.
func (e *Engine) List(ctx context.Context, match map[string]string) ([]engine.Listed, error) {
	var found []engine.Listed
	for doc, err := range e.group.Sandboxes(ctx, match) {
		if err != nil {
			return nil, engineError("list sandboxes", err)
		}
		if !wire.SameState(doc.State, wire.StateDeleting) {
			found = append(found, engine.Listed{ID: doc.ID, Name: doc.Labels[LabelName], Labels: ownLabels(doc.Labels)})
		}
	}
	return found, nil
}

// Delete removes a sandbox and returns when it is seen to be gone.
func (e *Engine) Delete(ctx context.Context, id string) error {
	s, err := e.group.Sandbox(id)
	if err != nil {
		return err
	}
	if err := s.Delete(ctx, acasapi.Wait{}); err != nil {
		return engineError("delete sandbox "+sandbox.Echo(id), err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.lost, id)
	return nil
}

func (e *Engine) isLost(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost[id]
}

func (e *Engine) lose(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost[id] = true
}

// Close lets go of connections. Sandboxes are left alone.
func (e *Engine) Close(context.Context) error {
	e.client.Close()
	e.arm.Close()
	return nil
}

// engineError tells the errors that the layer above tells apart.
func engineError(doing string, err error) error {
	for _, row := range []struct {
		code sandbox.Code
		is   error
	}{
		{sandbox.CodeServiceUnreachable, engine.ErrUnreachable},
		{sandbox.CodeServiceUnavailable, engine.ErrUnreachable},
		{sandbox.CodeServiceThrottled, engine.ErrUnreachable},
		{sandbox.CodeServiceForbidden, engine.ErrRefused},
		{sandbox.CodeServiceUnauthenticated, engine.ErrRefused},
		{sandbox.CodeServiceConflict, engine.ErrRefused},
		{sandbox.CodeServiceInvalid, engine.ErrRefused},
		{sandbox.CodeServiceNotRunning, engine.ErrGone},
	} {
		if errors.Is(err, row.code) {
			return fmt.Errorf("%s: %w: %w", doing, row.is, err)
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}
