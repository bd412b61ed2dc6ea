package acasapi

import (
	"context"
	"errors"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// visible is how long a sandbox or an image that was just made may answer 404.
const visible = 20 * time.Second

// await polls until the sandbox is in the state goal. What cannot reach it any more
// is a refusal at once.
func (s *Sandbox) await(ctx context.Context, goal string, limit time.Duration, wait Wait) (wire.Sandbox, error) {
	p := polling{first: 500 * time.Millisecond, most: 8 * time.Second, limit: limit, object: s.object(), goal: goal}
	client := s.group.client()
	began := client.cfg.Clock.Now()
	var last wire.Sandbox
	err := client.poll(ctx, wait, p, func(ctx context.Context) (bool, string, error) {
		doc, err := s.Get(ctx)
		if errors.Is(err, sandbox.CodeServiceNotFound) && last.ID == "" && client.cfg.Clock.Now().Sub(began) < visible {
			return false, "not visible yet", nil
		}
		if err != nil {
			return false, "", err
		}
		last = doc
		done, err := s.arrived(doc, goal)
		return done, doc.State, err
	})
	return last, err
}

// arrived judges a state on the way to goal. A word nobody knows is on the way, and
// so is a stopped sandbox that is to run: its details stay from the last time.
func (s *Sandbox) arrived(doc wire.Sandbox, goal string) (bool, error) {
	stopped := wire.SameState(doc.State, wire.StateStopped, wire.StateSuspended, wire.StateIdle)
	switch {
	case wire.SameState(doc.State, goal), stopped && goal == wire.StateStopped:
		return true, nil
	case wire.SameState(doc.State, wire.StateFailed, wire.StateDeleting, wire.StateStopFailed):
		return false, refusal(sandbox.CodeServiceFailed, s.object(), word(doc.State), goal, "")
	default:
		return false, nil
	}
}

// Stop suspends the sandbox and waits until it is. One that is not running is
// success.
func (s *Sandbox) Stop(ctx context.Context, wait Wait) (wire.Sandbox, error) {
	// What is answered differs between versions, a snapshot, a sandbox or nothing;
	// the state is read instead.
	if err := s.group.do(ctx, s.call(wire.SandboxStop)); err != nil && !errors.Is(err, sandbox.CodeServiceNotRunning) {
		return wire.Sandbox{}, err
	}
	return s.await(ctx, wire.StateStopped, 3*time.Minute, wait)
}

// StopAsync asks the newer version of the service to stop the sandbox, and waits as
// Stop does.
func (s *Sandbox) StopAsync(ctx context.Context, wait Wait) (wire.Sandbox, error) {
	if err := s.group.do(ctx, s.call(wire.SandboxStopAsync)); err != nil && !errors.Is(err, sandbox.CodeServiceNotRunning) {
		return wire.Sandbox{}, err
	}
	return s.await(ctx, wire.StateStopped, 3*time.Minute, wait)
}

// Resume wakes the sandbox and waits until it runs. One that runs is success; one
// that an administrator disabled is service.conflict.
func (s *Sandbox) Resume(ctx context.Context, wait Wait) (wire.Sandbox, error) {
	a, err := s.plane().send(ctx, s.call(wire.SandboxResume))
	if err != nil {
		return wire.Sandbox{}, err
	}
	var doc wire.Sandbox
	if wire.Decode(a.body, &doc) == nil && doc.ID == s.id && wire.SameState(doc.State, wire.StateRunning) {
		return doc, nil
	}
	return s.AwaitRunning(ctx, wait)
}

// AwaitRunning polls until the sandbox runs; it wakes nothing.
func (s *Sandbox) AwaitRunning(ctx context.Context, wait Wait) (wire.Sandbox, error) {
	return s.await(ctx, wire.StateRunning, 5*time.Minute, wait)
}

// Disable stops the sandbox and keeps everybody from waking it, until Enable.
func (s *Sandbox) Disable(ctx context.Context, wait Wait) (wire.Sandbox, error) {
	if err := s.group.do(ctx, s.call(wire.SandboxDisable)); err != nil {
		return wire.Sandbox{}, err
	}
	return s.await(ctx, wire.StateStopped, 3*time.Minute, wait)
}

// Enable lets a disabled sandbox be woken again. It stays stopped.
func (s *Sandbox) Enable(ctx context.Context) error {
	return s.group.do(ctx, s.call(wire.SandboxEnable))
}

// SetLifecycle replaces the whole of when the sandbox is suspended and deleted, and
// gives what holds now.
func (s *Sandbox) SetLifecycle(ctx context.Context, policy wire.Lifecycle) (wire.Lifecycle, error) {
	c := s.call(wire.SandboxLifecycle)
	c.body = policy
	a, err := s.plane().send(ctx, c)
	if err != nil {
		return wire.Lifecycle{}, err
	}
	return readWith(s.plane(), a, wire.ReadLifecycle, nil)
}

// Stats is what the service measures of the sandbox.
func (s *Sandbox) Stats(ctx context.Context) (wire.Stats, error) {
	return ask[wire.Stats](ctx, s.plane(), s.call(wire.SandboxStats), nil)
}
