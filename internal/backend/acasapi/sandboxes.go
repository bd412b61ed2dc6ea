package acasapi

import (
	"context"
	"errors"
	"iter"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Making says how something that the service names itself is made.
type Making struct {
	// Marker is the value of [MarkerLabel]; empty is a new one. Whoever keeps it
	// can find what was made after this process is gone. It must be new for each
	// creation: what carries it is taken for what this call made.
	Marker string
	// Wait bounds how long the thing may take to be usable.
	Wait Wait
}

// CreateSandbox makes one sandbox and waits until it runs. When it does not, nothing
// is left of it, also when the caller went away meanwhile.
//
// A sandbox made from a snapshot carries the snapshot's labels and no marker: a lost
// answer to that is service.outcome_unknown.
func (g *Group) CreateSandbox(ctx context.Context, body wire.CreateSandbox, how Making) (wire.Sandbox, error) {
	body = body.ForVersion(g.plane.version)
	create := g.call(wire.SandboxCreate)
	create.object = "new sandbox in " + create.object
	if body.SourcesRef != nil && body.SourcesRef.Snapshot != nil {
		create.body = body
		made, err := ask(ctx, g.plane, create, (*wire.Sandbox).Check)
		if err != nil {
			return wire.Sandbox{}, once(err)
		}
		return g.untilRunning(ctx, made, how)
	}
	labels, marker, err := marked(body.Labels, how.Marker)
	if err != nil {
		return wire.Sandbox{}, err
	}
	body.Labels = labels
	create.body = body
	made, err := making[wire.Sandbox]{
		client: g.client(), object: create.object,
		send: func(ctx context.Context) (wire.Sandbox, error) {
			return ask(ctx, g.plane, create, (*wire.Sandbox).Check)
		},
		find: func(ctx context.Context) ([]wire.Sandbox, error) { return gather(g.Sandboxes(ctx, marker)) },
		discard: func(ctx context.Context, s wire.Sandbox) error {
			return gone(g.do(ctx, g.on(wire.SandboxDelete, "sandbox", wire.SegSandbox, s.ID)))
		},
		id: func(s wire.Sandbox) string { return s.ID },
	}.run(ctx)
	if err != nil {
		if made.ID == "" {
			return wire.Sandbox{}, err
		}
		return wire.Sandbox{}, g.scrap(ctx, err, made.ID)
	}
	return g.untilRunning(ctx, made, how)
}

func (g *Group) untilRunning(ctx context.Context, made wire.Sandbox, how Making) (wire.Sandbox, error) {
	if wire.SameState(made.State, wire.StateRunning) {
		return made, nil
	}
	s, err := g.Sandbox(made.ID)
	var running wire.Sandbox
	if err == nil {
		running, err = s.AwaitRunning(ctx, how.Wait)
	}
	if err != nil {
		return wire.Sandbox{}, g.scrap(ctx, err, made.ID)
	}
	return running, nil
}

// scrap deletes a sandbox that is no use.
func (g *Group) scrap(ctx context.Context, err error, id string) error {
	remove := g.on(wire.SandboxDelete, "sandbox", wire.SegSandbox, id)
	return clean(ctx, err, remove.object, func(ctx context.Context) error { return gone(g.do(ctx, remove)) })
}

// Sandboxes gives the group's sandboxes that carry every one of labels.
func (g *Group) Sandboxes(ctx context.Context, labels wire.Labels) iter.Seq2[wire.Sandbox, error] {
	c, err := filtered(g.call(wire.SandboxList), labels)
	if err != nil {
		return failed[wire.Sandbox](err)
	}
	items := listing[wire.Sandbox]{
		call: c, key: "value", numbered: true, check: (*wire.Sandbox).Check,
		id: func(s *wire.Sandbox) string { return s.ID },
	}.all(ctx, g.plane)
	return having(items, labels, func(s wire.Sandbox) wire.Labels { return s.Labels })
}

// having passes on what carries the labels. See filtered.
func having[T any](items iter.Seq2[T, error], want wire.Labels, labels func(T) wire.Labels) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range items {
			if err == nil && !labels(item).Has(want) {
				continue
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

func failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// CountSandboxes is how many sandboxes the group has.
func (g *Group) CountSandboxes(ctx context.Context) (int, error) {
	return g.count(ctx, wire.SandboxCount)
}

// Sandbox is one sandbox of a group, by the id the service gave it. It is a name and
// holds nothing.
type Sandbox struct {
	group *Group
	id    string
	seg   wire.Segments
}

// Sandbox is the sandbox of that id. It does not look whether it exists.
func (g *Group) Sandbox(id string) (*Sandbox, error) {
	if err := checkID("sandbox", id); err != nil {
		return nil, err
	}
	return &Sandbox{group: g, id: id, seg: with(g.seg, wire.SegSandbox, id)}, nil
}

// ID is the service's name for the sandbox.
func (s *Sandbox) ID() string { return s.id }

func (s *Sandbox) plane() *plane { return s.group.plane }

func (s *Sandbox) call(op wire.Op) call {
	return call{op: op, object: s.object(), seg: s.seg}
}

func (s *Sandbox) object() string { return "sandbox " + sandbox.Echo(s.id) }

// Get reads the sandbox.
func (s *Sandbox) Get(ctx context.Context) (wire.Sandbox, error) {
	return ask(ctx, s.plane(), s.call(wire.SandboxGet), func(doc *wire.Sandbox) error {
		if doc.ID != s.id && doc.ID != "" {
			return errors.New("another sandbox than the one that was asked for")
		}
		return doc.Check()
	})
}

// Delete removes the sandbox and waits until it is gone. One that does not exist is
// success.
func (s *Sandbox) Delete(ctx context.Context, wait Wait) error {
	return s.group.deleteAndWait(ctx, s.call(wire.SandboxDelete), wait, func(ctx context.Context) (string, error) {
		doc, err := s.Get(ctx)
		return doc.State, err
	})
}
