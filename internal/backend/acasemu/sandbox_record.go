package acasemu

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// dataGroup reads the group of a request to the data plane, where a role that was
// just assigned may not have arrived yet.
func (e *Emulator) dataGroup(tx *store.Tx, c *call) (groupRecord, error) {
	g, ok, err := store.Get[groupRecord](tx, kindGroup, c.groupKey())
	switch {
	case err != nil:
		return g, err
	case !ok:
		return g, refuse(http.StatusNotFound, "SandboxGroupNotFound", "the sandbox group was not found")
	case c.fault.Roles > 0 && c.now.Sub(g.CreatedAt) < c.fault.Roles:
		return g, e.forbidden(c, "the identity has no role on the data plane yet")
	}
	return g, nil
}

func (c *call) sandboxKey() store.Key { return append(c.groupKey(), c.seg[wire.SegSandbox]) }

func missingSandbox(id string) error {
	return &refusal{
		status: http.StatusNotFound, code: wire.TitleSandboxNotFound, detail: "sandbox " + id + ": document not found", number: new(wire.ErrorCodeNotFound),
	}
}

func notRunning(id, title string) error {
	return &refusal{status: http.StatusConflict, code: title, detail: "sandbox " + id + " is not running", number: new(wire.ErrorCodeNotRunning)}
}

// found is a sandbox with its group, as one transaction saw them.
type found struct {
	group   groupRecord
	sandbox sandboxRecord
}

// load reads the sandbox of a request as it is on the disk.
func (e *Emulator) load(tx *store.Tx, c *call) (f found, err error) {
	if f.group, err = e.dataGroup(tx, c); err != nil {
		return f, err
	}
	var exists bool
	if f.sandbox, exists, err = store.Get[sandboxRecord](tx, kindSandbox, c.sandboxKey()); err == nil && !exists {
		err = missingSandbox(c.seg[wire.SegSandbox])
	}
	return f, err
}

// sandbox is the sandbox of a request, as far along as the time says.
func (e *Emulator) sandbox(ctx context.Context, c *call) (found, error) {
	return e.read(ctx, c, false, func(*store.Tx, *found) error { return nil })
}

// read is [Emulator.sandbox] with a reader that sees the same state. looked counts
// for changes that wait to be looked at.
func (e *Emulator) read(ctx context.Context, c *call, looked bool, reader func(*store.Tx, *found) error) (f found, err error) {
	changes := false
	look := func(tx *store.Tx) error {
		if f, err = e.load(tx, c); err != nil {
			return err
		}
		p := f.sandbox.Pending
		if changes = e.due(&f.sandbox, c.now) || (looked && p != nil && p.Looks > 0); changes {
			return nil
		}
		return reader(tx, &f)
	}
	if err := e.store.View(ctx, look); err != nil || !changes {
		return f, err
	}
	if f, err = e.change(ctx, c, looked, nil); err != nil {
		return f, err
	}
	return f, e.store.View(ctx, func(tx *store.Tx) error { return reader(tx, &f) })
}

// change lets f change the sandbox of a request, once it is as far along as the
// time says; what that ends is ended. A nil f changes nothing.
func (e *Emulator) change(ctx context.Context, c *call, looked bool, f func(*store.Tx, *found) error) (found, error) {
	var got found
	var next deed
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		var err error
		if got, err = e.load(tx, c); err != nil {
			return err
		}
		key := c.sandboxKey()
		s := &got.sandbox
		if next = e.settle(s, c.now, looked); next == remove {
			return e.drop(tx, c.groupKey(), s)
		}
		if f != nil {
			if err := f(tx, &got); err != nil {
				return err
			}
		}
		return store.Put(tx, kindSandbox, key, *s)
	})
	if err != nil {
		return got, err
	}
	if err := e.act(ctx, c.seg[wire.SegSandbox], next, &got.sandbox); err != nil {
		return got, err
	}
	if next == remove {
		return got, missingSandbox(c.seg[wire.SegSandbox])
	}
	return got, nil
}

// deed is what has to happen to a guest because time passed.
type deed uint8

const (
	none deed = iota
	suspend
	begone // the guest goes, the sandbox still shows
	remove // both are gone
)

// due reports that time has changed something about a sandbox.
func (e *Emulator) due(s *sandboxRecord, now time.Time) bool {
	return (s.Pending != nil && s.Pending.over(now)) || e.idle(s, now) || outlived(s, now)
}

// settle brings a sandbox as far along as the time says.
func (e *Emulator) settle(s *sandboxRecord, now time.Time, looked bool) deed {
	switch p := s.Pending; {
	case p == nil:
	case p.over(now):
		s.Pending = nil
		if s.Deleted {
			return remove
		}
		s.Doc.State = p.Goal
	case looked:
		p.look()
	}
	switch {
	case outlived(s, now):
		s.Doc.State, s.Deleted = wire.StateDeleting, true
		if s.Pending = after(e.cfg.Pace.Delete, "", now); s.Pending == nil {
			return remove
		}
		return begone
	case e.idle(s, now):
		e.markStopped(s, wire.StoppedIdle, now)
		return suspend
	}
	return none
}

// idle reports a running sandbox in which nothing happened for as long as its
// policy allows.
func (e *Emulator) idle(s *sandboxRecord, now time.Time) bool {
	l := s.Doc.Lifecycle
	if s.Deleted || s.Doc.State != wire.StateRunning || l == nil || l.AutoSuspend == nil || !l.AutoSuspend.Enabled || l.AutoSuspend.Interval <= 0 {
		return false
	}
	return now.Sub(s.Used) >= time.Duration(l.AutoSuspend.Interval)*time.Second && !e.busy.has(s.Doc.ID)
}

// outlived reports a sandbox that its policy deletes.
func outlived(s *sandboxRecord, now time.Time) bool {
	l := s.Doc.Lifecycle
	if s.Deleted || l == nil || l.AutoDelete == nil || !l.AutoDelete.Enabled {
		return false
	}
	after := time.Duration(l.AutoDelete.DeleteIntervalInSeconds)*time.Second + time.Duration(l.AutoDelete.DeleteIntervalInDays)*24*time.Hour
	from := s.Created
	if l.AutoDelete.Trigger != "AfterCreation" {
		if s.Doc.State != wire.StateStopped {
			return false
		}
		from = s.Stopped
	}
	return after > 0 && now.Sub(from) >= after
}

// markStopped makes a sandbox stopped, or on its way there.
func (e *Emulator) markStopped(s *sandboxRecord, why string, now time.Time) {
	s.Doc.StateDetails = &wire.StateDetails{StoppedReason: why, StoppedAt: stamp(now)}
	s.Stopped = now
	s.Doc.State = wire.StateStopped
	if s.Pending = after(e.cfg.Pace.Stop, wire.StateStopped, now); s.Pending != nil {
		s.Doc.State = wire.StateStopping
	}
}

// drop removes a sandbox from the state.
func (e *Emulator) drop(tx *store.Tx, group store.Key, s *sandboxRecord) error {
	return tx.Delete(kindSandbox, append(slices.Clip(group), s.Doc.ID))
}

// act does to the guest what settling its sandbox asked for.
func (e *Emulator) act(ctx context.Context, id string, d deed, s *sandboxRecord) error {
	switch d {
	case suspend:
		ctx, cancel := e.detached(ctx)
		defer cancel()
		err := e.gates.within(ctx, id, func() error { return e.cfg.Guests.Suspend(ctx, id, keepsMemory(s)) })
		if errors.Is(err, engine.ErrGone) {
			return nil // another process has it; who uses it there finds it stopped
		}
		return err
	case begone, remove:
		e.endGuest(ctx, id)
	case none:
	}
	return nil
}

// keepsMemory reports whether a suspended sandbox keeps its programs.
func keepsMemory(s *sandboxRecord) bool {
	l := s.Doc.Lifecycle
	return l == nil || l.AutoSuspend == nil || l.AutoSuspend.Mode != wire.SuspendDisk
}

// endGuest removes the guest of a sandbox that is gone. A failure has nobody to be
// told to: the sandbox does not exist any more, sweeping tries again, and closing
// ends every guest.
func (e *Emulator) endGuest(ctx context.Context, id string) {
	ctx, cancel := e.detached(ctx)
	defer cancel()
	if e.gates.within(ctx, id, func() error { return e.cfg.Guests.Delete(ctx, id) }) == nil {
		e.owned.drop(id)
	}
}
