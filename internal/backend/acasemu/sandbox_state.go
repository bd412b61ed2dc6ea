package acasemu

import (
	"context"
	"net/http"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

func (e *Emulator) sandboxDelete(ctx context.Context, c *call) (answer, error) {
	_, err := e.change(ctx, c, false, func(tx *store.Tx, f *found) error {
		s := &f.sandbox
		if s.Deleted {
			return nil
		}
		s.Deleted, s.Doc.State = true, wire.StateDeleting
		s.Pending = after(e.cfg.Pace.Delete, "", c.now)
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	e.endGuest(ctx, c.seg[wire.SegSandbox])
	if e.cfg.Pace.Delete == (Delay{}) {
		err := e.store.Update(ctx, func(tx *store.Tx) error { return tx.Delete(kindSandbox, c.sandboxKey()) })
		if err != nil {
			return answer{}, err
		}
	}
	return ok(struct{}{})
}

// stop is a user's stop, or with why Disabled an administrator's.
func (e *Emulator) stop(ctx context.Context, c *call, why string) (found, error) {
	stopped := false
	f, err := e.change(ctx, c, false, func(_ *store.Tx, f *found) error {
		s := &f.sandbox
		stopped = false
		switch {
		case s.Deleted, wire.SameState(s.Doc.State, wire.StateFailed):
			return refuse(http.StatusConflict, "InvalidSandboxState", "sandbox %s is %s", s.Doc.ID, s.Doc.State)
		case wire.SameState(s.Doc.State, wire.StateStopped, wire.StateStopping):
			if why == wire.StoppedDisabled {
				s.Doc.StateDetails = &wire.StateDetails{StoppedReason: why, StoppedAt: stamp(c.now)}
			}
			return nil
		}
		stopped = true
		e.markStopped(s, why, c.now)
		if c.fault.Suspend > 0 {
			s.Doc.State = wire.StateStopping
			s.Pending = after(Delay{Time: c.fault.Suspend}, wire.StateStopped, c.now)
		}
		return nil
	})
	if err != nil || !stopped {
		return f, err
	}
	id := c.seg[wire.SegSandbox]
	err = e.gates.within(ctx, id, func() error { return e.cfg.Guests.Suspend(ctx, id, keepsMemory(&f.sandbox)) })
	if err != nil {
		err = e.guestFailure(ctx, c, id, err)
	}
	return f, err
}

func (e *Emulator) sandboxStop(ctx context.Context, c *call) (answer, error) {
	f, err := e.stop(ctx, c, wire.StoppedByUser)
	if err != nil {
		return answer{}, err
	}
	switch e.cfg.Behaviour.StopAnswers {
	case StopNothing:
		return nothing()
	case StopSandbox:
		return e.answerSandbox(ctx, c, &f)
	default:
		// The snapshot that holds a stopped sandbox is the service's own and stands in
		// no list.
		return ok(wire.Snapshot{
			ID: idOf("stopped " + f.sandbox.Doc.ID), Labels: wire.Labels{}, SandboxID: f.sandbox.Doc.ID, CreatedAtUTC: stamp(c.now),
			Resources: f.sandbox.Doc.Resources, SizeInMB: 190, VMMType: vmmType,
		})
	}
}

func (e *Emulator) sandboxStopAsync(ctx context.Context, c *call) (answer, error) {
	f, err := e.stop(ctx, c, wire.StoppedByUser)
	if err != nil {
		return answer{}, err
	}
	a, err := e.answerSandbox(ctx, c, &f)
	a.status = http.StatusAccepted
	return a, err
}

func (e *Emulator) sandboxResume(ctx context.Context, c *call) (answer, error) {
	resumed := false
	f, err := e.change(ctx, c, false, func(_ *store.Tx, f *found) error {
		s := &f.sandbox
		resumed = false
		switch {
		case s.Doc.StateDetails != nil && s.Doc.StateDetails.StoppedReason == wire.StoppedDisabled &&
			!wire.SameState(s.Doc.State, wire.StateRunning, wire.StateResuming):
			return refuse(http.StatusConflict, wire.TitleDisabled, "sandbox %s is disabled", s.Doc.ID)
		case s.Deleted, wire.SameState(s.Doc.State, wire.StateFailed, wire.StateCreating):
			return refuse(http.StatusConflict, "InvalidSandboxState", "sandbox %s is %s", s.Doc.ID, s.Doc.State)
		case wire.SameState(s.Doc.State, wire.StateRunning, wire.StateResuming):
			return nil
		}
		resumed = true
		s.Doc.State, s.Used = wire.StateRunning, c.now
		if s.Pending = after(e.cfg.Pace.Resume, wire.StateRunning, c.now); s.Pending != nil {
			s.Doc.State = wire.StateResuming
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	if id := c.seg[wire.SegSandbox]; resumed {
		if err := e.gates.within(ctx, id, func() error { return e.cfg.Guests.Resume(ctx, id) }); err != nil {
			return answer{}, e.guestFailure(ctx, c, id, err)
		}
	}
	return e.answerSandbox(ctx, c, &f)
}

func (e *Emulator) sandboxDisable(ctx context.Context, c *call) (answer, error) {
	f, err := e.stop(ctx, c, wire.StoppedDisabled)
	if err != nil {
		return answer{}, err
	}
	return e.answerSandbox(ctx, c, &f)
}

func (e *Emulator) sandboxEnable(ctx context.Context, c *call) (answer, error) {
	f, err := e.change(ctx, c, false, func(_ *store.Tx, f *found) error {
		if d := f.sandbox.Doc.StateDetails; d != nil && d.StoppedReason == wire.StoppedDisabled {
			d.StoppedReason = wire.StoppedByUser
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return e.answerSandbox(ctx, c, &f)
}

func (e *Emulator) sandboxStats(ctx context.Context, c *call) (answer, error) {
	f, err := e.running(ctx, c)
	if err != nil {
		return answer{}, err
	}
	s, err := e.cfg.Guests.Stats(ctx, f.sandbox.Doc.ID)
	if err != nil {
		return answer{}, e.guestFailure(ctx, c, f.sandbox.Doc.ID, err)
	}
	size, err := readSize(f.sandbox.Doc.Resources)
	if err != nil {
		return answer{}, err
	}
	memory, disk := size.memoryMi<<20, size.diskMi<<20
	uptime := c.now.Sub(f.sandbox.Created).Seconds()
	busy := int64(float64(s.CPU.Nanoseconds()) / max(1, uptime)) // since it was made: nothing nearer is measured
	return ok(map[string]any{
		"cpu":        map[string]any{"usageNanoCores": busy, "usageCoreNanoSeconds": s.CPU.Nanoseconds()},
		"memory":     map[string]any{"totalBytes": memory, "usedBytes": s.MemoryUsed, "availableBytes": max(0, memory-s.MemoryUsed)},
		"storage":    map[string]any{"totalBytes": disk, "usedBytes": s.DiskUsed, "availableBytes": max(0, disk-s.DiskUsed)},
		"network":    map[string]any{"rxBytes": 0, "txBytes": 0},
		"uptimeSecs": int64(uptime),
	})
}

// running is the sandbox of a request when it runs; what follows counts as
// something happening in it.
func (e *Emulator) running(ctx context.Context, c *call) (found, error) {
	f, err := e.sandbox(ctx, c)
	switch {
	case err != nil:
		return f, err
	case !wire.SameState(f.sandbox.Doc.State, wire.StateRunning):
		return f, notRunning(f.sandbox.Doc.ID, wire.TitleNotRunning)
	}
	return f, nil
}
