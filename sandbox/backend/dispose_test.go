package backend_test

import (
	"context"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func (s *stage) dispose(t *testing.T) *sandbox.DisposalFailure {
	t.Helper()
	return s.backend.Dispose(t.Context(), sandbox.DisposeRequest{Owner: owner, Key: s.request.Key})
}

func TestDisposalIsIdempotent(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	for range 2 {
		if failure := s.dispose(t); failure != nil {
			t.Fatal(failure)
		}
	}
	if s.engine.Count() != 0 {
		t.Error("the sandbox is still there")
	}
	_, err := s.read(t, "a")
	wantCode(t, err, sandbox.CodeGuestLost)
}

func TestDisposalOfAKeyTakesAllItsKindsAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	kind, agent, call := s.request, s.request, s.request
	kind.Spec.Kind = "terraform"
	agent.Key.Agent = "reviewer"
	call.Key.Call = "call-1"
	for _, req := range []sandbox.AcquireRequest{kind, agent, call} {
		s.acquire(t, req)
	}
	if failure := s.dispose(t); failure != nil {
		t.Fatal(failure)
	}
	if s.engine.Count() != 2 {
		t.Errorf("%d sandboxes, want the other agent's and the other call's", s.engine.Count())
	}
	for _, req := range []sandbox.AcquireRequest{agent, call} {
		if got := s.acquire(t, req).Origin; got != sandbox.OriginAdopted {
			t.Errorf("%+v: %s", req.Key, got)
		}
	}
}

func TestDisposalOfOneKindLeavesTheOther(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	kind := s.request
	kind.Spec.Kind = "terraform"
	s.acquire(t, kind)
	failure := s.backend.Dispose(t.Context(), sandbox.DisposeRequest{Owner: owner, Key: s.request.Key, Kind: "codeact"})
	if failure != nil {
		t.Fatal(failure)
	}
	if got := s.acquire(t, kind).Origin; got != sandbox.OriginAdopted {
		t.Error("the other kind was removed")
	}
}

func TestDisposalOfAnInstanceNeverHitsItsReplacement(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	old := s.Info().InstanceID
	if failure := s.dispose(t); failure != nil {
		t.Fatal(failure)
	}
	s.acquire(t, s.request)
	failure := s.backend.Dispose(t.Context(), sandbox.DisposeRequest{Owner: owner, Key: s.request.Key, InstanceID: old})
	if failure != nil || s.engine.Count() != 1 {
		t.Errorf("%v, %d sandboxes", failure, s.engine.Count())
	}
}

func TestAnotherProcessFindsSandboxesByTheirLabels(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	if failure := sandboxtest.Backend(t, sandboxtest.NewEngine(sandboxtest.Options{})).
		Dispose(t.Context(), sandbox.DisposeRequest{Owner: owner, Key: s.request.Key}); failure != nil {
		t.Fatal(failure)
	}
	if s.engine.Count() != 1 {
		t.Fatal("another engine's sandbox was removed")
	}
	second := &stage{engine: s.engine, backend: sandboxtest.Backend(t, s.engine), request: s.request}
	if failure := second.dispose(t); failure != nil {
		t.Fatal(failure)
	}
	if s.engine.Count() != 0 {
		t.Error("the sandbox of the first process is still there")
	}
}

func TestTwoOwnersOverOneEngineNeverMeet(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	theirs := sandboxtest.Backend(t, s.engine)
	const stranger = "another-owner"
	req := s.request
	req.Owner = stranger
	acquired, err := theirs.Acquire(t.Context(), req)
	must(t, err)
	if acquired.Origin != sandbox.OriginCreated || acquired.Session.Info().InstanceID == s.Info().InstanceID {
		t.Fatal("one owner adopted the other's sandbox")
	}
	failure := theirs.Dispose(t.Context(), sandbox.DisposeRequest{Owner: stranger, Key: req.Key})
	disposal := theirs.DisposeScope(t.Context(), stranger, req.Key.Scope, "")
	if failure != nil || disposal.Undisposed != nil || disposal.Disposed != 0 {
		t.Errorf("%v, %+v", failure, disposal)
	}
	// Naming the instance of the other owner does not help.
	failure = theirs.Dispose(t.Context(), sandbox.DisposeRequest{Owner: stranger, Key: req.Key, InstanceID: s.Info().InstanceID})
	if failure != nil || s.engine.Count() != 1 {
		t.Errorf("%v, %d sandboxes, want the first owner's alone", failure, s.engine.Count())
	}
	if got := s.acquire(t, s.request).Origin; got != sandbox.OriginAdopted {
		t.Error("the first owner's sandbox was touched")
	}
}

func TestScopeDisposalCountsAndKeepsToItsScope(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	for _, key := range []sandbox.Key{
		{Scope: "tenant", Thread: "conversation", Agent: "second"},
		{Scope: "tenant", Thread: "another", Agent: "analyst"},
		{Scope: "neighbour", Thread: "conversation", Agent: "analyst"},
	} {
		req := s.request
		req.Key = key
		s.acquire(t, req)
	}
	second := sandboxtest.Backend(t, s.engine)
	for _, test := range []struct {
		thread        string
		removed, left int
	}{{"conversation", 2, 2}, {"conversation", 0, 2}, {"", 1, 1}} {
		got := second.DisposeScope(t.Context(), owner, "tenant", test.thread)
		if got.Undisposed != nil || got.Disposed != test.removed || s.engine.Count() != test.left {
			t.Errorf("thread %q: %+v, %d left, want %d removed and %d left", test.thread, got, s.engine.Count(), test.removed, test.left)
		}
	}
}

func TestDisposalFailuresSayWhatKindTheyAre(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		op   sandboxtest.Op
		err  error
		code sandbox.DisposalCode
		left int
	}{
		"an engine that is away":                         {sandboxtest.OpDelete, engine.ErrUnreachable, sandbox.DisposalUnreachable, 1},
		"an engine that says no":                         {sandboxtest.OpDelete, engine.ErrRefused, sandbox.DisposalRefused, 1},
		"an engine that was late":                        {sandboxtest.OpDelete, context.DeadlineExceeded, sandbox.DisposalTimeout, 1},
		"an engine that just fails":                      {sandboxtest.OpDelete, errHostile, sandbox.DisposalUnknown, 1},
		"no list: what is known is removed all the same": {sandboxtest.OpList, errHostile, sandbox.DisposalUnlisted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, sandboxtest.Options{})
			s.engine.FailNth(test.op, 1, test.err)
			failure := s.dispose(t)
			if failure == nil || failure.Code != test.code || s.engine.Count() != test.left {
				t.Fatalf("got %v with %d left, want %s with %d left", failure, s.engine.Count(), test.code, test.left)
			}
			if failure := s.dispose(t); failure != nil || s.engine.Count() != 0 {
				t.Errorf("the second attempt: %v, %d left", failure, s.engine.Count())
			}
		})
	}
}

func TestOneFailureDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	for _, agent := range []string{"a", "b", "c"} {
		req := s.request
		req.Key.Agent = agent
		s.acquire(t, req)
	}
	s.engine.FailNth(sandboxtest.OpDelete, 2, engine.ErrRefused)
	got := s.backend.DisposeScope(t.Context(), owner, "tenant", "")
	if got.Disposed != 3 || got.Undisposed == nil || got.Undisposed.Code != sandbox.DisposalRefused {
		t.Errorf("%+v", got)
	}
}

func TestDisposalWaitsForAnAcquireUnderWayAndRemovesIt(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	b := sandboxtest.Backend(t, e)
	started, listed := make(chan struct{}), make(chan struct{})
	e.Intercept(func(r sandboxtest.Request) error {
		switch r.Op {
		case sandboxtest.OpStart:
			close(started)
			<-listed
		case sandboxtest.OpList:
			// The list is answered before the sandbox exists.
			close(listed)
		}
		return nil
	})
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := b.Acquire(t.Context(), request(e)); err != nil {
			t.Error(err)
		}
	})
	<-started
	failure := b.Dispose(t.Context(), sandbox.DisposeRequest{Owner: owner, Key: request(e).Key})
	group.Wait()
	if failure != nil || e.Count() != 0 {
		t.Errorf("%v, %d sandboxes", failure, e.Count())
	}
}

// careless is an engine that lists everything, whatever was asked for.
type careless struct{ *sandboxtest.Engine }

func (c careless) List(ctx context.Context, _ map[string]string) ([]engine.Listed, error) {
	return c.Engine.List(ctx, nil)
}

func TestAnEngineThatListsTooMuchRemovesNobodyElse(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	b := backendOver(t, careless{s.engine}, s.engine)
	got := b.DisposeScope(t.Context(), "another-owner", "tenant", "")
	if got.Disposed != 0 || got.Undisposed != nil || s.engine.Count() != 1 {
		t.Errorf("%+v, %d sandboxes", got, s.engine.Count())
	}
	got = b.DisposeScope(t.Context(), owner, "tenant", "")
	if got.Disposed != 1 || s.engine.Count() != 0 {
		t.Errorf("%+v, %d sandboxes", got, s.engine.Count())
	}
}

func TestDisposalForNobodyIsAFailure(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	if failure := s.backend.Dispose(t.Context(), sandbox.DisposeRequest{Key: s.request.Key}); failure == nil {
		t.Error("an empty owner was taken")
	}
	if got := s.backend.DisposeScope(t.Context(), "", "tenant", ""); got.Undisposed == nil {
		t.Error("an empty owner was taken")
	}
}
