package backend_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestConcurrentAcquiresOfOneIdentityGetOneSandbox(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	b := sandboxtest.Backend(t, e)
	var mu sync.Mutex
	ids, created := map[string]bool{}, 0
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			acquired, err := b.Acquire(t.Context(), request(e))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			ids[acquired.Session.Info().InstanceID] = true
			if acquired.Origin == sandbox.OriginCreated {
				created++
			}
		})
	}
	group.Wait()
	if len(ids) != 1 || created != 1 || e.Count() != 1 {
		t.Errorf("%d ids, %d created, %d sandboxes, want one of each", len(ids), created, e.Count())
	}
}

func TestOneIdentityNeverWaitsForAnother(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	b := sandboxtest.Backend(t, e)
	held, release := make(chan struct{}), make(chan struct{})
	var waiting atomic.Bool
	e.Intercept(func(r sandboxtest.Request) error {
		if r.Op == sandboxtest.OpStart && waiting.CompareAndSwap(false, true) {
			close(held)
			<-release
		}
		return nil
	})
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := b.Acquire(t.Context(), request(e)); err != nil {
			t.Error(err)
		}
	})
	<-held
	next := request(e)
	next.Spec.Kind = "terraform"
	_, err := b.Acquire(t.Context(), next)
	close(release)
	group.Wait()
	must(t, err)
}

func TestWaitingForAnIdentityHonoursTheContext(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	b := sandboxtest.Backend(t, e)
	held, release := make(chan struct{}), make(chan struct{})
	e.Intercept(func(r sandboxtest.Request) error {
		if r.Op == sandboxtest.OpStart {
			close(held)
			<-release
		}
		return nil
	})
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := b.Acquire(t.Context(), request(e)); err != nil {
			t.Error(err)
		}
	})
	<-held
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Acquire(ctx, request(e))
	close(release)
	group.Wait()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's own end", err)
	}
}

func TestReuseIsRefusedForAnythingThatDiffers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*stage)
		field  string
	}{
		"another spec": {func(s *stage) { s.request.SpecDigest = other }, "spec_digest"},
		"another field of the spec": {func(s *stage) {
			s.request.SpecDigest, s.request.Spec.ProgramProfile = other, "python"
		}, "spec_digest (program_profile)"},
		"another policy": {func(s *stage) { s.request.PolicyDigest = other }, "policy_digest"},
		"another label":  {func(s *stage) { s.request.Spec.Labels = map[string]string{"team": "a"} }, "labels"},
		"an owner's label that was changed": {func(s *stage) {
			s.engine.SetLabel(s.Info().InstanceID, backend.LabelOwner, "somebody")
		}, "owner"},
		"a call's label that was changed": {func(s *stage) {
			s.engine.SetLabel(s.Info().InstanceID, backend.LabelCall, "")
		}, "key.call"},
		"a kind's label that was changed": {func(s *stage) {
			s.engine.SetLabel(s.Info().InstanceID, backend.LabelKind, "x")
		}, "kind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, sandboxtest.Options{})
			if got := s.acquire(t, s.request).Origin; got != sandbox.OriginAdopted {
				t.Fatalf("the same request got a sandbox that was %s", got)
			}
			test.change(s)
			_, err := s.backend.Acquire(t.Context(), s.request)
			wantCode(t, err, sandbox.CodeReuseDiffers)
			if found := sandbox.RefusalOf(err).Found; !strings.Contains(found, test.field) {
				t.Errorf("%q does not name %s", found, test.field)
			}
			if s.engine.Count() != 1 {
				t.Error("the running sandbox was not left alone")
			}
		})
	}
}

func TestASleepingSandboxIsResumed(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	s.engine.Suspend(s.Info().InstanceID)
	if got := s.acquire(t, s.request).Origin; got != sandbox.OriginResumed {
		t.Errorf("got a sandbox that was %s", got)
	}
}

func TestLabelsAndNamesCarryNoIDs(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	labels := s.engine.Labels(s.Info().InstanceID)
	if len(labels) != 8 {
		t.Errorf("%d labels: %v", len(labels), slices.Sorted(maps.Keys(labels)))
	}
	var text strings.Builder
	for label, value := range labels {
		if len(value) != 52 {
			t.Errorf("label %s has %d characters", label, len(value))
		}
		text.WriteString(value)
	}
	for _, r := range s.engine.Requests() {
		text.WriteString(r.Name)
	}
	for _, id := range []string{owner, "tenant", "conversation", "analyst", "codeact", digest[7:]} {
		if strings.Contains(text.String(), id) {
			t.Errorf("%q can be read", id)
		}
	}
}

func TestEqualIDsOfTwoTenantsDoNotLookAlike(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	next := s.request
	next.Key.Scope = "another tenant"
	mine := s.engine.Labels(s.Info().InstanceID)
	theirs := s.engine.Labels(s.acquire(t, next).Session.Info().InstanceID)
	for _, label := range []string{backend.LabelScope, backend.LabelThread, backend.LabelAgent, backend.LabelCall} {
		if mine[label] == theirs[label] {
			t.Errorf("%s is the same for two tenants", label)
		}
	}
	if mine[backend.LabelOwner] != theirs[backend.LabelOwner] {
		t.Error("one owner's label differs")
	}
}

func TestKeyPartsThatAreShiftedNeverCollide(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	b := sandboxtest.Backend(t, e)
	keys := []sandbox.Key{
		{Scope: "a|b", Thread: "c", Agent: "d"},
		{Scope: "a", Thread: "b|c", Agent: "d"},
		{Scope: "a", Thread: "b", Agent: "c|d"},
		{Scope: "a", Thread: "b", Agent: "c", Call: "d"},
		{Scope: "a", Thread: "bc", Agent: "d"},
		{Scope: "ab", Thread: "c", Agent: "d"},
		{Scope: strings.Repeat("x", 1024), Thread: "c", Agent: "d"},
		{Scope: strings.Repeat("x", 1023) + "y", Thread: "c", Agent: "d"},
		{Scope: "a\x00", Thread: "b", Agent: "c"},
		{Scope: "a", Thread: "\x00b", Agent: "c"},
	}
	for _, key := range keys {
		req := request(e)
		req.Key = key
		if _, err := b.Acquire(t.Context(), req); err != nil {
			t.Errorf("%+v: %v", key, err)
		}
	}
	if e.Count() != len(keys) {
		t.Errorf("%d keys got %d sandboxes", len(keys), e.Count())
	}
}

func TestARequestNobodyCanBeServedForIsRefusedBeforeTheEngine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*sandbox.AcquireRequest)
		code   sandbox.Code
	}{
		"no owner":              {func(r *sandbox.AcquireRequest) { r.Owner = "" }, sandbox.CodeOptionsInvalid},
		"no thread":             {func(r *sandbox.AcquireRequest) { r.Key.Thread = "" }, sandbox.CodeKeyInvalid},
		"no kind":               {func(r *sandbox.AcquireRequest) { r.Spec.Kind = "" }, sandbox.CodeMissing},
		"no spec digest":        {func(r *sandbox.AcquireRequest) { r.SpecDigest = "" }, sandbox.CodeInvalidText},
		"a short policy digest": {func(r *sandbox.AcquireRequest) { r.PolicyDigest = digest[:70] }, sandbox.CodeInvalidText},
		"an upper-case digest":  {func(r *sandbox.AcquireRequest) { r.PolicyDigest = strings.ToUpper(other) }, sandbox.CodeInvalidText},
		"a relative work dir":   {func(r *sandbox.AcquireRequest) { r.Spec.WorkDir = "work" }, sandbox.CodePathInvalid},
		"a work dir that climbs": {func(r *sandbox.AcquireRequest) {
			r.Spec.WorkDir = "/work/../etc"
		}, sandbox.CodePathInvalid},
		"an owner's label": {func(r *sandbox.AcquireRequest) {
			r.Spec.Labels = map[string]string{backend.LabelOwner: "x"}
		}, sandbox.CodeInvalidText},
		"a reserved label in other case": {func(r *sandbox.AcquireRequest) {
			r.Spec.Labels = map[string]string{"SandBox.Owner": "x"}
		}, sandbox.CodeInvalidText},
		"a reserved label nobody uses yet": {func(r *sandbox.AcquireRequest) {
			r.Spec.Labels = map[string]string{sandbox.ReservedLabelPrefix: "x"}
		}, sandbox.CodeInvalidText},
		"a capability that is not there": {func(r *sandbox.AcquireRequest) {
			set := sandbox.SetOf(sandbox.CapabilityExec)
			r.Spec.Requires = &set
		}, sandbox.CodeCapabilityMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sandboxtest.NewEngine(sandboxtest.Options{})
			b := sandboxtest.Backend(t, e)
			req := request(e)
			req.Spec.Labels = map[string]string{"sandbox": "x", "sandboxes.x": "neighbours of the prefix"}
			if _, err := b.Acquire(t.Context(), req); err != nil {
				t.Fatalf("the neighbour that is allowed: %v", err)
			}
			before := len(e.Requests())
			test.change(&req)
			_, err := b.Acquire(t.Context(), req)
			wantCode(t, err, test.code)
			if len(e.Requests()) != before {
				t.Error("the engine was asked")
			}
		})
	}
}

func TestTheWorkDirectoryIsEnsuredColdAndWarm(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, options)
			if !s.guest.Exists(work) {
				t.Fatal("no work directory after a cold acquire")
			}
			must(t, s.write(t, "kept.txt", "kept"))
			s.acquire(t, s.request)
			if got, err := s.read(t, "kept.txt"); err != nil || got != "kept" {
				t.Errorf("a warm acquire lost a file: %q, %v", got, err)
			}
			must(t, s.guest.Remove("/maf-sandbox"))
			s.acquire(t, s.request)
			if !s.guest.Exists(work) {
				t.Error("no work directory after a warm acquire")
			}
		})
	}
}

func TestSomethingElseInPlaceOfTheWorkDirectoryFailsTheAcquire(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plant func(*sandboxtest.View) error
		code  sandbox.Code
	}{
		"a link":        {func(v *sandboxtest.View) error { return v.Symlink(work, "/etc") }, sandbox.CodePathThroughLink},
		"a linked root": {func(v *sandboxtest.View) error { return v.Symlink("/maf-sandbox", "/") }, sandbox.CodePathThroughLink},
		"a file":        {func(v *sandboxtest.View) error { return v.WriteFile(work, nil) }, sandbox.CodePathNotDirectory},
		"a file above":  {func(v *sandboxtest.View) error { return v.WriteFile("/maf-sandbox", nil) }, sandbox.CodePathNotDirectory},
		"a pipe":        {func(v *sandboxtest.View) error { return v.Mkfifo(work) }, sandbox.CodePathNotDirectory},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for access, options := range everyAccess() {
				t.Run(access, func(t *testing.T) {
					t.Parallel()
					s := newStage(t, options)
					must(t, s.guest.Remove("/maf-sandbox"), s.guest.Mkdir("/work"), test.plant(s.guest))
					_, err := s.backend.Acquire(t.Context(), s.request)
					wantCode(t, err, test.code)
					if s.engine.Count() != 1 {
						t.Error("a warm sandbox was removed")
					}
				})
			}
		})
	}
}

func TestAFailedAcquireLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, op := range []sandboxtest.Op{sandboxtest.OpStat, sandboxtest.OpMkdir, sandboxtest.OpStart} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			e := sandboxtest.NewEngine(sandboxtest.Options{})
			b := sandboxtest.Backend(t, e)
			e.FailNth(op, 1, errHostile)
			_, err := b.Acquire(t.Context(), request(e))
			wantCode(t, err, sandbox.CodeGuestFailed)
			if e.Count() != 0 {
				t.Errorf("%d sandboxes left", e.Count())
			}
			if got, err := b.Acquire(t.Context(), request(e)); err != nil || got.Origin != sandbox.OriginCreated {
				t.Errorf("afterwards: %v, %v", got.Origin, err)
			}
		})
	}
}

func TestACancelledAcquireStillCleansUp(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	b := sandboxtest.Backend(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	e.Intercept(func(r sandboxtest.Request) error {
		if r.Op == sandboxtest.OpMkdir {
			cancel()
		}
		return nil
	})
	_, err := b.Acquire(ctx, request(e))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the caller's cancellation", err)
	}
	if e.Count() != 0 {
		t.Errorf("%d sandboxes left", e.Count())
	}
}

func TestACleanUpThatFailsIsReportedAndNotForgotten(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	b := sandboxtest.Backend(t, e)
	e.FailNth(sandboxtest.OpMkdir, 1, engine.ErrNoSpace)
	e.FailNth(sandboxtest.OpDelete, 1, engine.ErrUnreachable)
	_, err := b.Acquire(t.Context(), request(e))
	wantCode(t, err, sandbox.CodeGuestStorageLimit)
	var failure *sandbox.DisposalFailure
	if !errors.As(err, &failure) || failure.Code != sandbox.DisposalUnreachable {
		t.Fatalf("got %v, want a disposal failure with it", err)
	}
	if failure := b.Dispose(t.Context(), sandbox.DisposeRequest{Owner: owner, Key: request(e).Key}); failure != nil {
		t.Error(failure)
	}
	if e.Count() != 0 {
		t.Errorf("%d sandboxes left", e.Count())
	}
}

// forgetful is an engine that drops a label on the way.
type forgetful struct{ *sandboxtest.Engine }

func (f forgetful) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	delete(req.Labels, backend.LabelScope)
	return f.Engine.Start(ctx, req)
}

func TestANewSandboxWithoutItsLabelsIsNotServed(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	b, err := backend.New(forgetful{e}, sandboxtest.Declarations(e))
	must(t, err)
	_, err = b.Acquire(t.Context(), request(e))
	wantCode(t, err, sandbox.CodeGuestFailed)
	if e.Count() != 0 {
		t.Errorf("%d sandboxes left that no scope disposal would find", e.Count())
	}
}

func TestASessionKnowsForWhomItIs(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	got := fmt.Sprintf("%+v", s.Info())
	want := fmt.Sprintf("%+v", sandbox.SessionInfo{
		Owner: owner, Key: s.request.Key, Kind: "codeact", Backend: "memory", InstanceID: "mem-1", WorkDir: work,
		Capabilities: *s.request.Spec.Requires, SpecDigest: digest, PolicyDigest: digest,
	})
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
