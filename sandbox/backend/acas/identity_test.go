package acas_test

import (
	"errors"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func (w *world) give(t *testing.T, kind string) {
	t.Helper()
	body := wire.GroupPatchBody{Identity: &wire.GroupIdentity{Type: kind}}
	if _, err := w.client(t).PatchGroup(t.Context(), w.group(), body, acasapi.Wait{}); err != nil {
		t.Fatal(err)
	}
}

func TestNoSandboxIsServedWhileItsGroupHasAnIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.engine(t)
	w.give(t, wire.IdentitySystem)
	if _, err := e.Start(t.Context(), request("a.example")); !errors.Is(err, sandbox.CodeAttachedIdentity) || len(w.Guests()) != 0 {
		t.Errorf("a new one: %v, left %q", err, w.Guests())
	}
	w.give(t, wire.IdentityNone)
	made := w.start(t, e, request("a.example"))
	w.give(t, wire.IdentitySystem)
	if _, err := e.Start(t.Context(), request("a.example")); !errors.Is(err, sandbox.CodeAttachedIdentity) || len(w.Guests()) != 1 {
		t.Errorf("one that was there before: %v, left %q", err, w.Guests())
	}
	w.give(t, wire.IdentityNone)
	if again := w.start(t, e, request("a.example")); again.Guest.ID() != made.Guest.ID() {
		t.Error("it was made anew")
	}
}

// A host whose role reaches the sandboxes alone cannot know, unless it was told.
func TestAGroupThatCannotBeReadIsRefusedUnlessTheHostVouchesForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Fault(t, "op=group.get,status=403")
	if _, err := w.engine(t).Start(t.Context(), request("a.example")); !errors.Is(err, sandbox.CodeServiceForbidden) || len(w.Guests()) != 0 {
		t.Errorf("%v, left %q", err, w.Guests())
	}
	w.config.GroupHasNoIdentity = true
	w.start(t, w.engine(t), request("a.example"))
}

// open exposes a port of a sandbox, as another hand can.
func (w *world) open(t *testing.T, id string) *acasapi.Sandbox {
	t.Helper()
	group, err := w.client(t).Group(w.group())
	if err != nil {
		t.Fatal(err)
	}
	s, err := group.Sandbox(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddPort(t.Context(), wire.Port{Port: 8080}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASandboxThatAnybodyCanReachIsNotAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.engine(t)
	made := w.start(t, e, request("a.example"))
	s := w.open(t, made.Guest.ID())
	if _, err := e.Start(t.Context(), request("a.example")); !errors.Is(err, sandbox.CodeReuseDiffers) {
		t.Errorf("with a port: %v", err)
	}
	if _, err := s.RemovePort(t.Context(), 8080); err != nil {
		t.Fatal(err)
	}
	if again := w.start(t, e, request("a.example")); again.Guest.ID() != made.Guest.ID() {
		t.Error("it was made anew")
	}
}

// What is refused for its port or identity stays asleep.
func TestWhatIsRefusedIsNotWoken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.engine(t)
	made := w.start(t, e, request("a.example"))
	s := w.open(t, made.Guest.ID())
	if _, err := s.Stop(t.Context(), acasapi.Wait{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), request("a.example")); !errors.Is(err, sandbox.CodeReuseDiffers) {
		t.Errorf("%v", err)
	}
	for _, r := range w.Requests() {
		if r.Operation == "sandbox.resume" {
			t.Error("it was woken")
		}
	}
}

// What a host and its events are told is the reason, not that something failed.
func TestARefusalToStartIsTheAcquiresOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.give(t, wire.IdentitySystem)
	b := w.backend(t)
	if _, err := b.Acquire(t.Context(), acquireRequest(sandbox.CapabilityExec)); sandbox.RefusalOf(err) == nil || sandbox.RefusalOf(err).Code != sandbox.CodeAttachedIdentity {
		t.Errorf("with an identity: %v", err)
	}
	w.give(t, wire.IdentityNone)
	w.Fault(t, "op=sandbox.create,status=400")
	if _, err := b.Acquire(t.Context(), acquireRequest(sandbox.CapabilityExec)); sandbox.RefusalOf(err) == nil || sandbox.RefusalOf(err).Code != sandbox.CodeGuestFailed {
		t.Errorf("with a service that fails: %v", err)
	}
}
