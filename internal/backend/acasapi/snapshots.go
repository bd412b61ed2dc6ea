package acasapi

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// CreateSnapshot copies a running sandbox, its memory included, and waits until the
// copy can be read. When it does not get there, nothing is left of it.
func (s *Sandbox) CreateSnapshot(ctx context.Context, labels wire.Labels, how Making) (wire.Snapshot, error) {
	labels, marker, err := marked(labels, how.Marker)
	if err != nil {
		return wire.Snapshot{}, err
	}
	c := s.call(wire.SandboxSnapshot)
	c.body = wire.LabelsBody{Labels: labels}
	g := s.group
	remove := func(ctx context.Context, snapshot wire.Snapshot) error {
		return gone(g.do(ctx, g.on(wire.SnapshotDelete, "snapshot", wire.SegSnapshot, snapshot.ID)))
	}
	made, err := making[wire.Snapshot]{
		client: g.client(), object: "snapshot of " + s.object(),
		send: func(ctx context.Context) (wire.Snapshot, error) {
			return ask(ctx, s.plane(), c, (*wire.Snapshot).Check)
		},
		find:    func(ctx context.Context) ([]wire.Snapshot, error) { return gather(g.Snapshots(ctx, marker)) },
		discard: remove,
		id:      func(snapshot wire.Snapshot) string { return snapshot.ID },
	}.run(ctx)
	if err == nil {
		made, err = g.untilVisible(ctx, made, how)
	}
	if err != nil && made.ID != "" {
		err = clean(ctx, err, "snapshot "+sandbox.Echo(made.ID), func(ctx context.Context) error { return remove(ctx, made) })
		return wire.Snapshot{}, err
	}
	return made, err
}

// untilVisible waits out the 404 that a new snapshot answers for a while.
func (g *Group) untilVisible(ctx context.Context, made wire.Snapshot, how Making) (wire.Snapshot, error) {
	p := polling{first: time.Second, most: 8 * time.Second, limit: 10 * time.Minute, object: "snapshot " + sandbox.Echo(made.ID), goal: "visible"}
	found := made
	err := g.client().poll(ctx, how.Wait, p, func(ctx context.Context) (bool, string, error) {
		snapshot, err := g.Snapshot(ctx, made.ID)
		if errors.Is(err, sandbox.CodeServiceNotFound) {
			return false, "not visible yet", nil
		}
		if err == nil {
			found = snapshot
		}
		return err == nil, "visible", err
	})
	return found, err
}

// Snapshot reads a snapshot.
func (g *Group) Snapshot(ctx context.Context, id string) (wire.Snapshot, error) {
	if err := checkID("snapshot", id); err != nil {
		return wire.Snapshot{}, err
	}
	return ask(ctx, g.plane, g.on(wire.SnapshotGet, "snapshot", wire.SegSnapshot, id), (*wire.Snapshot).Check)
}

// Snapshots gives the group's snapshots that carry every one of labels.
func (g *Group) Snapshots(ctx context.Context, labels wire.Labels) iter.Seq2[wire.Snapshot, error] {
	c, err := filtered(g.call(wire.SnapshotList), labels)
	if err != nil {
		return failed[wire.Snapshot](err)
	}
	items := listing[wire.Snapshot]{
		call: c, key: "value", numbered: true, check: (*wire.Snapshot).Check,
		id: func(s *wire.Snapshot) string { return s.ID },
	}.all(ctx, g.plane)
	return having(items, labels, func(s wire.Snapshot) wire.Labels { return s.Labels })
}

// CountSnapshots is how many snapshots the group has.
func (g *Group) CountSnapshots(ctx context.Context) (int, error) {
	return g.count(ctx, wire.SnapshotCount)
}

// DeleteSnapshot removes a snapshot and waits until it is gone. One that does not
// exist is success.
func (g *Group) DeleteSnapshot(ctx context.Context, id string, wait Wait) error {
	if err := checkID("snapshot", id); err != nil {
		return err
	}
	return g.deleteAndWait(ctx, g.on(wire.SnapshotDelete, "snapshot", wire.SegSnapshot, id), wait, func(ctx context.Context) (string, error) {
		_, err := g.Snapshot(ctx, id)
		return "there", err
	})
}
