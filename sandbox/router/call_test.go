package router_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

func TestCallUsesTheSandboxAndDisposesIt(t *testing.T) {
	t.Parallel()
	f, seen := newFake(t, "fake"), &events{}
	r := mustOpen(t, aManifest(), func(o *router.Options) { o.Observer = seen }, f)
	a := mustAttach(t, r, "report")
	err := a.Call(t.Context(), key, func(_ context.Context, s *sandbox.Session) error {
		info := s.Info()
		if info.Owner != "reports" || info.Key != key || info.PolicyDigest != string(r.Digest()) || info.SpecDigest == "" {
			t.Errorf("the session is for %+v", info)
		}
		if live, _, _ := f.counts(); live != 1 {
			t.Errorf("%d sandboxes live during the call", live)
		}
		return nil
	})
	if live, made, disposals := f.counts(); err != nil || live != 0 || made != 1 || disposals != 1 {
		t.Errorf("%v: %d live, %d made, %d disposals", err, live, made, disposals)
	}
	if len(seen.seen) != 3 {
		t.Errorf("observed %v", seen.seen)
	}
}

func TestCallDisposesWhateverBecomesOfIt(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, fn := range map[string]func(context.Context, context.CancelFunc) error{
		"an error":      func(context.Context, context.CancelFunc) error { return boom },
		"a cancelled":   func(_ context.Context, cancel context.CancelFunc) error { cancel(); return boom },
		"a panic":       func(context.Context, context.CancelFunc) error { panic(boom) },
		"a clean end":   func(context.Context, context.CancelFunc) error { return nil },
		"a late cancel": func(ctx context.Context, cancel context.CancelFunc) error { cancel(); <-ctx.Done(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, "fake")
			a := mustAttach(t, mustOpen(t, aManifest(), nil, f), "report")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			func() {
				defer func() { _ = recover() }()
				_ = a.Call(ctx, key, func(ctx context.Context, _ *sandbox.Session) error { return fn(ctx, cancel) })
			}()
			if live, made, _ := f.counts(); live != 0 || made != 1 {
				t.Errorf("%d live of %d made", live, made)
			}
		})
	}
}

func TestAnErrorOfTheCallComesBackUnchanged(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	a := mustAttach(t, mustOpen(t, aManifest(), nil, newFake(t, "fake")), "report")
	if err := a.Call(t.Context(), key, func(context.Context, *sandbox.Session) error { return boom }); err != boom { //nolint:errorlint // unchanged is the promise
		t.Errorf("got %v", err)
	}
}

func TestAFailedDisposalClosesTheKeyUntilItIsDisposed(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	r := mustOpen(t, aManifest(), nil, f)
	a := mustAttach(t, r, "report")
	f.set(func() { f.failDispose = &sandbox.DisposalFailure{Code: sandbox.DisposalTimeout, Detail: "slow"} })
	nothing := func(context.Context, *sandbox.Session) error { return nil }
	var failure *sandbox.DisposalFailure
	if err := a.Call(t.Context(), key, nothing); !errors.As(err, &failure) || failure.Code != sandbox.DisposalTimeout {
		t.Fatalf("got %v", err)
	}
	if err := a.Call(t.Context(), key, nothing); !errors.Is(err, sandbox.CodeSandboxUnclean) {
		t.Errorf("the key is served again: %v", err)
	}
	other := key
	other.Thread = "another"
	f.set(func() { f.failDispose = nil })
	if err := a.Call(t.Context(), other, nothing); err != nil {
		t.Errorf("another key is refused too: %v", err)
	}
	if err := r.Dispose(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := a.Call(t.Context(), key, nothing); err != nil {
		t.Errorf("still refused after a clean disposal: %v", err)
	}
}

func TestOverlappingCallsShareOneSandboxAndTheLastDisposes(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	a := mustAttach(t, mustOpen(t, aManifest(), nil, f), "report")
	const n = 8
	var inside, finished sync.WaitGroup
	inside.Add(n)
	for range n {
		finished.Go(func() {
			err := a.Call(t.Context(), key, func(context.Context, *sandbox.Session) error {
				inside.Done()
				inside.Wait()
				if live, _, disposals := f.counts(); live != 1 || disposals != 0 {
					t.Errorf("%d live, %d disposals while calls overlap", live, disposals)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	finished.Wait()
	if live, made, disposals := f.counts(); live != 0 || made != 1 || disposals != 1 {
		t.Errorf("%d live, %d made, %d disposals", live, made, disposals)
	}
}

func TestNobodyEntersBetweenTheLastCallAndItsDisposal(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	a := mustAttach(t, mustOpen(t, aManifest(), nil, f), "report")
	lease, err := a.Acquire(t.Context(), key) // keeps the slot held past the call's end
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Call(t.Context(), key, func(context.Context, *sandbox.Session) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if live, _, _ := f.counts(); live != 1 {
		t.Error("the sandbox was disposed under a lease")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gave up"))
	if _, err := a.Acquire(ctx, key); err == nil || err.Error() != "gave up" {
		t.Errorf("entered while a clean-up was pending: %v", err)
	}
	if err := lease.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if live, _, _ := f.counts(); live != 0 {
		t.Error("the last one out did not dispose")
	}
}

func TestALeaseLeavesTheSandboxWarm(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	r := mustOpen(t, aManifest(), nil, f)
	a := mustAttach(t, r, "report")
	for i, want := range []sandbox.Origin{sandbox.OriginCreated, sandbox.OriginAdopted} {
		lease, err := a.Acquire(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if lease.Origin != want {
			t.Errorf("acquire %d: %s", i, lease.Origin)
		}
		_ = lease.Close(t.Context())
		_ = lease.Close(t.Context())
	}
	if err := r.Dispose(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if live, made, _ := f.counts(); live != 0 || made != 1 {
		t.Errorf("%d live, %d made", live, made)
	}
}

func TestTheLastLeaseAnswersForTheDisposalOfACallThatEndedBefore(t *testing.T) {
	t.Parallel()
	for _, failure := range []*sandbox.DisposalFailure{nil, {Code: sandbox.DisposalRefused, Detail: "no"}} {
		f := newFake(t, "fake")
		r := mustOpen(t, aManifest(), nil, f)
		a := mustAttach(t, r, "report")
		lease, err := a.Acquire(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Call(t.Context(), key, func(context.Context, *sandbox.Session) error { return nil }); err != nil {
			t.Fatalf("the call answers for a disposal that is not its own: %v", err)
		}
		f.set(func() { f.failDispose = failure })
		err = lease.Close(t.Context())
		if got, failed := errors.AsType[*sandbox.DisposalFailure](err); failed != (failure != nil) || failed && got.Code != failure.Code {
			t.Errorf("disposal that ended with %v: closing the lease answered %v", failure, err)
		}
		if err := lease.Close(t.Context()); err != nil {
			t.Errorf("closing again: %v", err)
		}
		next, err := a.Acquire(t.Context(), key)
		if errors.Is(err, sandbox.CodeSandboxUnclean) != (failure != nil) {
			t.Errorf("disposal that ended with %v: the next acquire answered %v", failure, err)
		}
		if err == nil {
			_ = next.Close(t.Context())
		}
	}
}

// The clean-up of a call that ended under another's lease runs on the lease's
// goroutine while the call returns; the race detector watches them.
func TestACallAndALeaseThatEndTogetherShareNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	a := mustAttach(t, mustOpen(t, aManifest(), nil, f), "report")
	for range 200 {
		lease, err := a.Acquire(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() { _ = a.Call(t.Context(), key, func(context.Context, *sandbox.Session) error { return nil }) })
		both.Go(func() { _ = lease.Close(t.Context()) })
		both.Wait()
	}
	if live, _, _ := f.counts(); live != 0 {
		t.Errorf("%d sandboxes are left", live)
	}
}
