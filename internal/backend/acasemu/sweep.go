package acasemu

import (
	"context"
	"errors"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// Sweep brings every sandbox as far along as the clock says: idle ones are
// suspended, those that outlived their policy are deleted, and guests whose sandboxes
// another process deleted are ended. Requests do the first two for what they look at;
// this is for guests that nobody asks about.
func (e *Emulator) Sweep(ctx context.Context) error {
	if !e.begin() {
		return nil
	}
	defer e.work.Done()
	var groups []store.Key
	err := e.store.View(ctx, func(tx *store.Tx) error {
		groups = nil
		for g, err := range store.Each[groupRecord](tx, kindGroup, nil) {
			if err != nil {
				return err
			}
			groups = append(groups, g.Key)
		}
		return nil
	})
	for _, g := range groups {
		err = errors.Join(err, e.sweepGroup(ctx, g))
	}
	return errors.Join(err, e.endOrphans(ctx))
}

// sweepGroup settles the sandboxes of one group. Where nothing is due, nothing is
// written.
func (e *Emulator) sweepGroup(ctx context.Context, group store.Key) error {
	now := e.cfg.Clock.Now().UTC()
	due := false
	err := e.store.View(ctx, func(tx *store.Tx) error {
		due = false
		for s, err := range store.Each[sandboxRecord](tx, kindSandbox, group) {
			if err != nil {
				return err
			}
			if due = e.due(&s, now); due {
				return nil
			}
		}
		return nil
	})
	if err != nil || !due {
		return err
	}
	type change struct {
		s sandboxRecord
		d deed
	}
	var changed []change
	err = e.store.Update(ctx, func(tx *store.Tx) error {
		changed = nil
		for s, err := range store.Each[sandboxRecord](tx, kindSandbox, group) {
			if err != nil {
				return err
			}
			if e.due(&s, now) {
				changed = append(changed, change{s, e.settle(&s, now, false)})
				changed[len(changed)-1].s = s
			}
		}
		for i := range changed {
			s := &changed[i].s
			if changed[i].d == remove {
				if err := e.drop(tx, group, s); err != nil {
					return err
				}
			} else if err := store.Put(tx, kindSandbox, append(slices.Clip(group), s.Doc.ID), *s); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range changed {
		if err != nil {
			break
		}
		err = e.act(ctx, changed[i].s.Doc.ID, changed[i].d, &changed[i].s)
	}
	return err
}
