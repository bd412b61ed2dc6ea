package objectsink

import (
	"context"
	"errors"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Commit lets every object stand and then, in one conditional write, puts all of them
// into the index. That write is the landing.
func (d *delivery) Commit(ctx context.Context) error {
	if len(d.staged) == 0 {
		return ctx.Err()
	}
	if err := d.inTime(); err != nil {
		return err
	}
	entries := make([]Entry, len(d.staged))
	for i := range d.staged {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &d.staged[i]
		s.attempted = true
		if err := s.Commit(ctx); err != nil {
			return failed("letting an object stand", err)
		}
		entries[i] = s.entry
	}
	replaced, err := d.enter(ctx, entries)
	if err != nil {
		return err
	}
	d.landed = true
	d.tidy(ctx, replaced)
	return nil
}

// inTime refuses a landing whose reservation others may no longer count, and whose
// objects others may sweep.
func (d *delivery) inTime() error {
	if d.sink.options.Now().Before(d.until) {
		return nil
	}
	return sandbox.Finding{
		Code: sandbox.CodeLandingFailed, Found: "a landing that takes longer than it may",
		Required: "at most " + d.sink.options.MaxDuration.String(), Remedy: "land less at once, or raise the sink's MaxDuration",
	}.Refusal(nil)
}

// enter writes the entries into the index, unless somebody else's stand there.
func (d *delivery) enter(ctx context.Context, entries []Entry) (replaced []Entry, err error) {
	key := d.keys.index()
	current := d.index
	err = retried(ctx, func() error {
		if current == nil {
			read, err := d.sink.readIndex(ctx, key)
			if err != nil {
				return err
			}
			current = read
		}
		if current.has(d.landing) {
			return nil // an attempt before had arrived
		}
		if err := d.inTime(); err != nil {
			return err
		}
		next, gone, err := current.with(entries, d.sink.options.Existing)
		if err != nil {
			return err
		}
		replaced = gone
		err = d.sink.swapIndex(ctx, key, next)
		current = nil
		return err
	})
	switch {
	case err == nil:
		return replaced, nil
	case errors.Is(err, sandbox.CodeLandingExists):
		return nil, err
	}
	// The write may have arrived, or be about to.
	landed, fenceErr := d.fence(ctx, key)
	switch {
	case fenceErr != nil:
		d.uncertain = true
		return nil, refused("writing the index; whether it arrived is not known", errors.Join(err, fenceErr))
	case landed:
		return replaced, nil
	}
	return nil, failed("writing the index", err)
}

// fence finds out whether the landing is in the index and, where it is not, writes the
// index once more as it is: its version is another then, so that no write of this
// landing that is still on its way can succeed.
func (d *delivery) fence(ctx context.Context, key string) (landed bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	err = retried(ctx, func() error {
		read, err := d.sink.readIndex(ctx, key)
		if err != nil {
			return err
		}
		if landed = read.has(d.landing); landed {
			return nil
		}
		return d.sink.swapIndex(ctx, key, read)
	})
	return landed, err
}

// tidy removes what the landing replaced. It has landed already, so what cannot be
// removed is left to a sweep.
func (d *delivery) tidy(ctx context.Context, replaced []Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	for _, e := range replaced {
		if d.sink.store.Delete(ctx, e.Object) != nil {
			return
		}
	}
}
