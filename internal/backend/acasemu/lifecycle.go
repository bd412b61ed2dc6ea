package acasemu

import (
	"context"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

func checkLifecycle(l *wire.Lifecycle) error {
	if l == nil {
		return nil
	}
	if s := l.AutoSuspend; s != nil {
		if s.Interval < 0 {
			return invalid("autoSuspendPolicy.interval is in seconds, from 0")
		}
		if !slices.Contains([]string{"", wire.SuspendMemory, wire.SuspendDisk, "None"}, s.Mode) {
			return invalid("autoSuspendPolicy.mode is Memory or Disk")
		}
	}
	if d := l.AutoDelete; d != nil {
		const longest = 3650
		if d.DeleteIntervalInSeconds < 0 || d.DeleteIntervalInDays < 0 || d.DeleteIntervalInDays > longest {
			return invalid("autoDeletePolicy has an interval from 0")
		}
		if !slices.Contains([]string{"", "AfterSuspend", "AfterCreation"}, d.Trigger) {
			return invalid("autoDeletePolicy.trigger is AfterSuspend or AfterCreation")
		}
	}
	return nil
}

// sandboxLifecycle replaces the whole policy: a part that is not sent is gone.
func (e *Emulator) sandboxLifecycle(ctx context.Context, c *call) (answer, error) {
	var body wire.Lifecycle
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	wire.Known(&body)
	if err := checkLifecycle(&body); err != nil {
		return answer{}, err
	}
	f, err := e.change(ctx, c, false, func(_ *store.Tx, f *found) error {
		f.sandbox.Doc.Lifecycle = &body
		return nil
	})
	switch {
	case err != nil:
		return answer{}, err
	case e.cfg.Behaviour.LifecycleIsPolicy:
		return ok(body)
	}
	return e.answerSandbox(ctx, c, &f)
}
