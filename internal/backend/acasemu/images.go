package acasemu

import (
	"context"
	"net/http"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

func (c *call) imageKey() store.Key { return append(c.groupKey(), c.seg[wire.SegImage]) }

// imageCreate begins a build. Two from one reference are two images.
func (e *Emulator) imageCreate(ctx context.Context, c *call) (answer, error) {
	var body wire.CreateImage
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	wire.Known(&body)
	if err := checkLabels(body.Labels); err != nil {
		return answer{}, err
	}
	source := body.Image
	if (source == nil || source.Base == "") && body.Source != nil {
		source = &wire.ImageSource{Base: body.Source.ImageURL}
	}
	if source == nil || source.Base == "" {
		return answer{}, invalid("image.base is required")
	}
	r := e.build(c, source.Base)
	r.Image = wire.Image{
		ID: newID(), Name: body.Name, Labels: body.Labels, Image: source, Source: withoutCredentials(body.Source),
		Status: &wire.ImageStatus{State: wire.ImageBuilding, CreatedAt: stamp(c.now)},
	}
	if r.Image.Labels == nil {
		r.Image.Labels = wire.Labels{}
	}
	settleImage(&r, c, false)
	err := e.store.Update(ctx, func(tx *store.Tx) (err error) {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		if r.Seq, err = tx.Next(); err != nil {
			return err
		}
		return store.Put(tx, kindImage, append(c.groupKey(), r.Image.ID), r)
	})
	if err != nil {
		return answer{}, err
	}
	return c.made(r.Image)
}

// withoutCredentials is a build as it may be shown and kept.
func withoutCredentials(b *wire.ImageBuild) *wire.ImageBuild {
	if b == nil {
		return nil
	}
	shown := *b
	shown.Authentication = nil
	return &shown
}

// build is how the build of a reference will go.
func (e *Emulator) build(c *call, reference string) imageRecord {
	delay := e.cfg.Pace.Build
	r := imageRecord{Expired: c.fault.Image == "expired"}
	known, told := e.images[reference]
	switch looks, slow := c.fault.SlowImage(); {
	case c.fault.Image == "fail":
		r.Error = "a fault that was switched on"
	case told && known.Fails != "":
		r.Error = known.Fails
	case !told && e.cfg.OnlyKnownImages:
		r.Error = "the emulator was not told of this reference: pull access denied"
	case slow:
		delay = Delay{Looks: looks}
	}
	r.Pending = &pending{Goal: wire.ImageReady, Looks: delay.Looks, Until: c.now.Add(delay.Time), Never: c.fault.Image == "stuck"}
	if r.Error != "" {
		r.Pending.Goal = wire.ImageFailed
	}
	return r
}

// settleImage brings a build as far along as looks and the time say; it reports
// whether that changed anything.
func settleImage(r *imageRecord, c *call, looked bool) bool {
	p := r.Pending
	switch {
	case p == nil:
		return false
	case !p.over(c.now):
		return looked && p.look()
	}
	r.Pending = nil
	r.Image.Status.State, r.Image.Status.UpdatedAt = p.Goal, stamp(c.now)
	if p.Goal == wire.ImageFailed {
		r.Image.Status.ErrorMessage, r.Image.Status.Message = r.Error, r.Error
	}
	return true
}

func (e *Emulator) imageGet(ctx context.Context, c *call) (answer, error) {
	var r imageRecord
	read := func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		var exists bool
		var err error
		if r, exists, err = store.Get[imageRecord](tx, kindImage, c.imageKey()); err == nil && !exists {
			err = absent("DiskImageNotFound")
		}
		return err
	}
	err := e.store.View(ctx, read)
	if err == nil && r.Pending != nil {
		err = e.store.Update(ctx, func(tx *store.Tx) error {
			if err := read(tx); err != nil || !settleImage(&r, c, true) {
				return err
			}
			return store.Put(tx, kindImage, c.imageKey(), r)
		})
	}
	if err != nil {
		return answer{}, err
	}
	return ok(r.Image)
}

func (e *Emulator) imageList(ctx context.Context, c *call) (answer, error) {
	want, err := c.wanted()
	if err != nil {
		return answer{}, err
	}
	all, err := every(ctx, e, c, kindImage, func(r *imageRecord) uint64 { return r.Seq }, func(_ *store.Tx, r *imageRecord) (wire.Image, error) {
		settleImage(r, c, false)
		return r.Image, nil
	})
	if err != nil {
		return answer{}, err
	}
	return dataPage(e, c, labelled(all, want, func(i wire.Image) wire.Labels { return i.Labels }))
}

// labelled are the things that carry every label of want.
func labelled[T any](all []T, want wire.Labels, of func(T) wire.Labels) []T {
	kept := make([]T, 0, len(all))
	for _, item := range all {
		if of(item).Has(want) {
			kept = append(kept, item)
		}
	}
	return kept
}

func (e *Emulator) imageDelete(ctx context.Context, c *call) (answer, error) {
	var saved string
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		r, exists, err := store.Get[imageRecord](tx, kindImage, c.imageKey())
		if err != nil {
			return err
		}
		if !exists {
			return absent("DiskImageNotFound")
		}
		for s, err := range store.Each[sandboxRecord](tx, kindSandbox, c.groupKey()) {
			if err != nil {
				return err
			}
			if s.Image == r.Image.ID && !s.Deleted {
				return refuse(http.StatusConflict, "DiskImageInUse", "the disk image is in use by a sandbox")
			}
		}
		saved = r.Saved
		return tx.Delete(kindImage, c.imageKey())
	})
	if err != nil {
		return answer{}, err
	}
	if saved != "" {
		if err := e.cfg.Guests.Discard(ctx, saved); err != nil {
			return answer{}, err
		}
	}
	return nothing()
}
