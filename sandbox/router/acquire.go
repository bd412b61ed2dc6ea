package router

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// disposalBound is how long the disposal at the end of a call may take, whatever
// became of the call's own context.
const disposalBound = 30 * time.Second

// Lease is one live sandbox in the caller's hands. Close gives it back; until
// then the router will not clean the sandbox up underneath it.
type Lease struct {
	Session *sandbox.Session
	Origin  sandbox.Origin

	release func() *sandbox.DisposalFailure
	once    sync.Once
}

// Close gives the lease back. The sandbox stays for the next acquire of its key;
// [Router.Dispose] removes it. Where a call of the same key has ended meanwhile,
// the last lease disposes in its place, and a sandbox that may still be there is
// the error, a [*sandbox.DisposalFailure]. Closing twice is harmless.
func (l *Lease) Close(context.Context) (err error) {
	l.once.Do(func() { err = withFailure(nil, l.release()) })
	return err
}

// Acquire gets or creates the workload's sandbox for a key. It runs the whole
// decision again, waits while the key's sandbox is being cleaned up, and on an
// error leaves nothing behind. Several leases of one key share its sandbox.
func (a *Attachment) Acquire(ctx context.Context, key sandbox.Key) (lease *Lease, err error) {
	if err := a.validKey(key); err != nil {
		return nil, err
	}
	if err := a.router.enter(); err != nil {
		return nil, err
	}
	var slot *slot
	release := func() *sandbox.DisposalFailure {
		defer a.router.open.Done()
		if slot == nil {
			return nil
		}
		return slot.leave("", nil)
	}
	defer func() {
		if lease == nil { // refused, or the backend panicked
			err = withFailure(err, release())
		}
	}()
	if slot, err = a.enter(ctx, key); err != nil {
		return nil, err
	}
	acquired, err := a.acquire(ctx, key, slot)
	if err != nil {
		return nil, err
	}
	return &Lease{Session: acquired.Session, Origin: acquired.Origin, release: release}, nil
}

// enter takes a place in the slot of the key's sandbox.
func (a *Attachment) enter(ctx context.Context, key sandbox.Key) (*slot, error) {
	return a.router.slots.enter(ctx, slotID{key, a.spec.Kind, a.spec.Backend})
}

func (a *Attachment) acquire(ctx context.Context, key sandbox.Key, slot *slot) (sandbox.Acquired, error) {
	started := time.Now()
	acquired, err := a.acquireDecided(ctx, key, slot)
	event := SandboxAcquired{
		Workload: a.name, Key: key, Backend: a.spec.Backend, Manifest: a.router.digest,
		Origin: acquired.Origin, Duration: time.Since(started),
	}
	if r := sandbox.RefusalOf(err); r != nil {
		event.Refusal = r.Code
	} else if err != nil {
		event.Refusal = sandbox.CodeGuestFailed
	} else {
		event.InstanceID = acquired.Session.Info().InstanceID
		event.Findings = a.about(acquired.Findings)
	}
	a.router.observe(event)
	return acquired, err
}

func (a *Attachment) acquireDecided(ctx context.Context, key sandbox.Key, slot *slot) (sandbox.Acquired, error) {
	if failure := slot.unclean(); failure != nil {
		return sandbox.Acquired{}, sandbox.Finding{
			Code: sandbox.CodeSandboxUnclean, Subject: Subject(a.name),
			Found:    "an earlier clean-up of this key that failed with " + failure.Code.String(),
			Required: "a key whose sandboxes are known to be gone",
			Remedy:   "call Router.Dispose for the key until it succeeds",
		}.Refusal(nil)
	}
	if err := a.decide().Err(); err != nil {
		return sandbox.Acquired{}, err
	}
	req := sandbox.AcquireRequest{
		Owner: a.router.owner, Key: key, Spec: a.spec,
		SpecDigest: string(a.specDigest), PolicyDigest: string(a.policyDigest),
	}
	if a.router.policy.BoundsUser() { // what an image is configured to run as is not yet what runs
		req.JudgeUser = func(user sandbox.GuestUser) []sandbox.Finding {
			return a.about(a.router.policy.UserFindings(user))
		}
	}
	acquired, err := a.backend.Acquire(ctx, req)
	if err != nil {
		return sandbox.Acquired{}, err
	}
	if acquired.Session == nil || acquired.Session.Info().InstanceID == "" {
		return sandbox.Acquired{}, sandbox.Finding{
			Code: sandbox.CodeBackendNotPermitted, Subject: "backend " + sandbox.Echo(a.spec.Backend),
			Found: "an acquire without a session", Required: "a session that names its instance",
			Remedy: "fix the backend",
		}.Refusal(nil)
	}
	return acquired, nil
}

// validKey holds the key against the isolation scope in force: a call scope
// needs a call, a conversation scope must not have one (spec B29).
func (a *Attachment) validKey(key sandbox.Key) error {
	if err := key.Validate(); err != nil {
		return err
	}
	perCall := a.scope == sandbox.ScopeCall
	if perCall == (key.Call != "") {
		return nil
	}
	found, remedy := "no call", "set Key.Call to a new value for each call"
	if key.Call != "" {
		found, remedy = "call "+sandbox.Echo(key.Call), "leave Key.Call empty"
	}
	return sandbox.Finding{
		Code: sandbox.CodeKeyInvalid, Subject: Subject(a.name), Path: sandbox.Path("key", "call"),
		Found: found, Required: "what isolation scope " + a.scope.String() + " needs", Remedy: remedy,
	}.Refusal(nil)
}

// Call acquires the sandbox, runs fn with it, and disposes it, whatever became
// of fn or of ctx. Calls and leases of one key that overlap share the sandbox;
// the last to end disposes it, and nobody enters in between. An error of fn comes back
// unchanged; a sandbox that may still be there is joined to it as a
// [*sandbox.DisposalFailure], and its key is refused until it is disposed.
func (a *Attachment) Call(ctx context.Context, key sandbox.Key, fn func(context.Context, *sandbox.Session) error) (err error) {
	if err := a.validKey(key); err != nil {
		return err
	}
	if err := a.router.enter(); err != nil {
		return err
	}
	defer a.router.open.Done()
	slot, err := a.enter(ctx, key)
	if err != nil {
		return err
	}
	var instance string
	var dispose cleanup
	// Also when fn or the backend panics or ends its goroutine.
	defer func() { err = withFailure(err, slot.leave(instance, dispose)) }()
	acquired, err := a.acquire(ctx, key, slot)
	if err != nil {
		return err
	}
	instance = acquired.Session.Info().InstanceID
	dispose = a.disposer(ctx, key, instance)
	return fn(ctx, acquired.Session)
}

// withFailure joins a failed clean-up to the error of what came before it.
func withFailure(err error, failure *sandbox.DisposalFailure) error {
	if failure == nil {
		return err
	}
	return errors.Join(err, failure)
}

// disposer is what the last holder of the slot runs.
func (a *Attachment) disposer(ctx context.Context, key sandbox.Key, instance string) cleanup {
	return func() *sandbox.DisposalFailure {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), disposalBound)
		defer cancel()
		failure := a.backend.Dispose(ctx, sandbox.DisposeRequest{
			Owner: a.router.owner, Key: key, Kind: a.spec.Kind, InstanceID: instance,
		})
		a.router.observe(SandboxDisposed{
			Workload: a.name, Key: key, Backend: a.spec.Backend, InstanceID: instance, Failure: failure,
		})
		return failure
	}
}
