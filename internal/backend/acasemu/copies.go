package acasemu

import (
	"context"
	"errors"
	"net/http"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// saved is a copy of a running sandbox's files.
type saved struct {
	found
	labels wire.Labels
	name   string
	sizeMB float64
}

// save copies the files of the sandbox of a request, and lets keep put what is made
// of them into the state.
func (e *Emulator) save(ctx context.Context, c *call, keep func(*store.Tx, *saved) error) error {
	var body wire.LabelsBody
	if err := c.document(&body, true); err != nil {
		return err
	}
	if err := checkLabels(body.Labels); err != nil {
		return err
	}
	f, err := e.running(ctx, c)
	if err != nil {
		return err
	}
	s := &saved{found: f, labels: body.Labels, name: newID()}
	if s.labels == nil {
		s.labels = wire.Labels{}
	}
	id := f.sandbox.Doc.ID
	size, err := e.cfg.Guests.Save(ctx, id, s.name)
	if err != nil {
		return e.guestFailure(ctx, c, id, err)
	}
	s.sizeMB = float64(size >> 20)
	err = e.store.Update(ctx, func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		return keep(tx, s)
	})
	if err != nil {
		err = errors.Join(err, e.cfg.Guests.Discard(ctx, s.name))
	}
	return err
}

func (e *Emulator) sandboxSnapshot(ctx context.Context, c *call) (answer, error) {
	var doc wire.Snapshot
	err := e.save(ctx, c, func(tx *store.Tx, s *saved) (err error) {
		r := snapshotRecord{
			Saved: s.name, From: s.sandbox.From, Hidden: s.sandbox.Hidden,
			Snapshot: wire.Snapshot{
				ID: s.name, Labels: s.labels, SandboxID: s.sandbox.Doc.ID, CreatedAtUTC: stamp(c.now),
				Resources: s.sandbox.Doc.Resources, SizeInMB: s.sizeMB, VMMType: vmmType,
			},
		}
		r.Pending = after(e.cfg.Pace.Snapshot, "", c.now)
		if r.Seq, err = tx.Next(); err != nil {
			return err
		}
		doc = r.Snapshot
		return store.Put(tx, kindSnapshot, append(c.groupKey(), s.name), r)
	})
	if err != nil {
		return answer{}, err
	}
	return ok(doc)
}

func (e *Emulator) sandboxCommit(ctx context.Context, c *call) (answer, error) {
	var doc wire.Image
	err := e.save(ctx, c, func(tx *store.Tx, s *saved) (err error) {
		size, err := readSize(s.sandbox.Doc.Resources)
		if err != nil {
			return err
		}
		r := imageRecord{Saved: s.name, From: s.sandbox.From, DiskMi: size.diskMi, Image: wire.Image{
			ID: s.name, Labels: s.labels, Image: &wire.ImageSource{Base: "sandbox:" + s.sandbox.Doc.ID}, SizeInMB: s.sizeMB,
			Status: &wire.ImageStatus{State: wire.ImageReady, CreatedAt: stamp(c.now)},
		}}
		if r.Seq, err = tx.Next(); err != nil {
			return err
		}
		doc = r.Image
		return store.Put(tx, kindImage, append(c.groupKey(), s.name), r)
	})
	if err != nil {
		return answer{}, err
	}
	return ok(wire.Commit{DiskImage: doc})
}

func (c *call) snapshotKey() store.Key { return append(c.groupKey(), c.seg[wire.SegSnapshot]) }

// snapshotGet may not find what a create has just answered.
func (e *Emulator) snapshotGet(ctx context.Context, c *call) (answer, error) {
	var r snapshotRecord
	read := func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		var exists bool
		var err error
		if r, exists, err = store.Get[snapshotRecord](tx, kindSnapshot, c.snapshotKey()); err == nil && !exists {
			err = absent("SnapshotNotFound")
		}
		return err
	}
	err := e.store.View(ctx, read)
	hidden := false
	if err == nil && r.Pending != nil {
		err = e.store.Update(ctx, func(tx *store.Tx) error {
			if err := read(tx); err != nil || r.Pending == nil {
				return err
			}
			if hidden = !r.Pending.over(c.now); hidden {
				r.Pending.look()
			} else {
				r.Pending = nil
			}
			return store.Put(tx, kindSnapshot, c.snapshotKey(), r)
		})
	}
	if err == nil && hidden {
		err = refuse(http.StatusNotFound, "SnapshotNotFound", "the snapshot was not found")
	}
	if err != nil {
		return answer{}, err
	}
	return ok(r.Snapshot)
}

func (e *Emulator) snapshotList(ctx context.Context, c *call) (answer, error) {
	want, err := c.wanted()
	if err != nil {
		return answer{}, err
	}
	all, err := every(ctx, e, c, kindSnapshot, func(r *snapshotRecord) uint64 { return r.Seq },
		func(_ *store.Tx, r *snapshotRecord) (wire.Snapshot, error) { return r.Snapshot, nil })
	if err != nil {
		return answer{}, err
	}
	return dataPage(e, c, labelled(all, want, func(n wire.Snapshot) wire.Labels { return n.Labels }))
}

func (e *Emulator) snapshotCount(ctx context.Context, c *call) (answer, error) {
	return e.count(ctx, c, kindSnapshot)
}

func (e *Emulator) snapshotDelete(ctx context.Context, c *call) (answer, error) {
	a, err := e.removeOne(ctx, c, kindSnapshot, c.snapshotKey(), "SnapshotNotFound")
	if err != nil {
		return a, err
	}
	return a, e.cfg.Guests.Discard(ctx, c.seg[wire.SegSnapshot])
}
