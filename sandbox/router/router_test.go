package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var key = sandbox.Key{Scope: "tenant", Thread: "conversation", Agent: "analyst"}

func TestOpenRefusesWhatItCannotTrust(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name    string
		change  func(*router.Options)
		backend func(*fakeBackend)
		want    []sandbox.Code
	}{
		{"nothing wrong", nil, nil, nil},
		{"no owner", func(o *router.Options) { o.Owner = "" }, nil, []sandbox.Code{sandbox.CodeOptionsInvalid}},
		{"no accepted digest", func(o *router.Options) { o.Accept = nil }, nil, []sandbox.Code{sandbox.CodeOptionsInvalid}},
		{"a malformed digest", func(o *router.Options) { o.Accept = append(o.Accept, "sha256:1") }, nil, []sandbox.Code{sandbox.CodeInvalidText}},
		{"nothing stated at all", func(o *router.Options) { *o = router.Options{} }, nil, []sandbox.Code{
			sandbox.CodeOptionsInvalid, sandbox.CodeOptionsInvalid, sandbox.CodeOptionsInvalid,
		}},
		{"another digest", func(o *router.Options) { o.Accept = []manifest.Digest{manifest.DigestOf(nil)} }, nil, []sandbox.Code{sandbox.CodeDigestMismatch}},
		{"one of two digests", func(o *router.Options) { o.Accept = append([]manifest.Digest{manifest.DigestOf(nil)}, o.Accept...) }, nil, nil},
		{"one byte changed", func(o *router.Options) { o.Manifest[len(o.Manifest)-2] ^= 1 }, nil, []sandbox.Code{sandbox.CodeDigestMismatch}},
		{"truncated, with its own digest", func(o *router.Options) {
			o.Manifest = o.Manifest[:len(o.Manifest)-1]
			o.Accept = []manifest.Digest{manifest.DigestOf(o.Manifest)}
		}, nil, []sandbox.Code{sandbox.CodeDocumentSyntax}},
		{"a nil backend", func(o *router.Options) { o.Backends = append(o.Backends, nil) }, nil, []sandbox.Code{sandbox.CodeOptionsInvalid}},
		{"a backend twice", func(o *router.Options) { o.Backends = append(o.Backends, o.Backends[0]) }, nil, []sandbox.Code{sandbox.CodeOptionsInvalid}},
		{"declarations under another name", nil, func(f *fakeBackend) { f.decls.Backend = "acas" }, []sandbox.Code{sandbox.CodeBackendNotPermitted}},
		{"declarations without a rung", nil, func(f *fakeBackend) { f.decls.Isolation = 0 }, []sandbox.Code{sandbox.CodeBackendNotPermitted}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, "fake")
			if row.backend != nil {
				row.backend(f)
			}
			_, err := open(t, aManifest(), row.change, f)
			var got []sandbox.Code
			for _, r := range sandbox.RefusalsOf(err) {
				got = append(got, r.Code)
			}
			if fmt.Sprint(got) != fmt.Sprint(row.want) || (err == nil) != (len(row.want) == 0) {
				t.Errorf("refused with %v, want %v: %v", got, row.want, err)
			}
		})
	}
}

func TestOpenRefusesABackendThatLostAGuaranteeThePlanReliedOn(t *testing.T) {
	t.Parallel()
	m := aManifest()
	m.Guarantees = map[string]sandbox.GuaranteeSet{"fake": sandbox.SetOf(sandbox.GuaranteeUDPDenied)}
	f := newFake(t, "fake")
	mustOpen(t, m, nil, f)
	delete(f.decls.Guarantees, sandbox.GuaranteeUDPDenied)
	if _, err := open(t, m, nil, f); !errors.Is(err, sandbox.CodeEgressGuarantee) {
		t.Errorf("got %v", err)
	}
}

func TestCheckDeniesWhatOpenWouldRefuseTheBackendFor(t *testing.T) {
	t.Parallel()
	m := aManifest()
	m.Policy.MissingGuarantees = sandbox.MissingGuaranteesWarn // alone it would only warn
	f := newFake(t, "fake")
	delete(f.decls.Guarantees, sandbox.GuaranteeUDPDenied)
	for _, d := range router.Check(m, []sandbox.Declarations{f.decls}) {
		if d.Verdict != sandbox.Allow {
			t.Errorf("%s without a guarantee that nobody relied on: %+v", d.Workload, d.Decision)
		}
	}
	m.Guarantees = map[string]sandbox.GuaranteeSet{"fake": sandbox.SetOf(sandbox.GuaranteeUDPDenied)}
	for _, d := range router.Check(m, []sandbox.Declarations{f.decls}) {
		if !errors.Is(d.Err(), sandbox.CodeEgressGuarantee) {
			t.Errorf("%s without a guarantee that the plan relied on: %+v", d.Workload, d.Decision)
		}
	}
}

func TestAttachRefusesWhatThePlanWouldRefuse(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name   string
		change func(*sandbox.Policy, *sandbox.Spec)
		opts   func(*router.Options)
		want   string
	}{
		{"a workload that fits", func(*sandbox.Policy, *sandbox.Spec) {}, nil, ""},
		{"a floor above the backend", func(p *sandbox.Policy, _ *sandbox.Spec) { p.MinimumIsolation = sandbox.IsolationMicroVM }, nil, "isolation.below_floor at backend"},
		{"the host's own floor", func(*sandbox.Policy, *sandbox.Spec) {}, func(o *router.Options) { o.Floor = sandbox.IsolationVM }, "isolation.below_floor at backend"},
		{"the host's floor cannot lower", func(p *sandbox.Policy, _ *sandbox.Spec) { p.MinimumIsolation = sandbox.IsolationMicroVM }, func(o *router.Options) { o.Floor = sandbox.IsolationNone }, "isolation.below_floor at backend"},
		{"a capability the backend lacks", func(_ *sandbox.Policy, s *sandbox.Spec) { s.Requires = nil }, nil, "capability.missing at requires"},
		{"a mode the backend does not enforce", func(p *sandbox.Policy, s *sandbox.Spec) {
			e := sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"a.example"}}
			p.Egress, s.Egress = e, e
			p.MissingGuarantees = 0
		}, nil, "egress.not_enforced at egress_mode"},
		{"a backend that is not registered", func(_ *sandbox.Policy, s *sandbox.Spec) { s.Backend = "acas" }, nil, "router.no_backend at backend"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := aManifest()
			spec := m.Workloads["report"]
			row.change(&m.Policy, &spec)
			m.Workloads["report"] = spec
			f := newFake(t, "fake")
			r := mustOpen(t, m, row.opts, f)
			_, err := r.Attach(t.Context(), "report")
			if row.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if refusal := sandbox.RefusalOf(err); refusal == nil || refusal.Locator() != row.want {
				t.Errorf("got %v, want %s", err, row.want)
			}
			if _, made, _ := f.counts(); made != 0 {
				t.Error("a refused attach made a sandbox")
			}
		})
	}
}

func TestAttachKnowsOnlyTheManifestsWorkloads(t *testing.T) {
	t.Parallel()
	r := mustOpen(t, aManifest(), nil, newFake(t, "fake"))
	if _, err := r.Attach(t.Context(), "Report"); !errors.Is(err, sandbox.CodeWorkloadUnknown) {
		t.Errorf("got %v", err)
	}
	spec := aManifest().Workloads["report"]
	if _, err := r.Attach(t.Context(), "report", router.WithSpec(spec)); err != nil {
		t.Errorf("the manifest's own spec: %v", err)
	}
	spec.Labels = map[string]string{"a": "b"}
	if _, err := r.Attach(t.Context(), "report", router.WithSpec(spec)); !errors.Is(err, sandbox.CodeSpecDiffers) {
		t.Errorf("a spec with a label more: %v", err)
	}
}

func TestCheckAnswersWhatAttachAnswers(t *testing.T) {
	t.Parallel()
	m := aManifest()
	spec := m.Workloads["report"]
	spec.MinimumIsolation = sandbox.IsolationVM
	m.Workloads["report"] = spec
	f, strong := newFake(t, "fake"), newFake(t, "strong")
	strong.decls.Isolation = sandbox.IsolationVM
	r := mustOpen(t, m, nil, f, strong)
	for _, d := range router.Check(m, []sandbox.Declarations{f.decls, strong.decls}) {
		_, err := r.Attach(t.Context(), d.Workload)
		if fmt.Sprint(err) != fmt.Sprint(d.Err()) {
			t.Errorf("%s: check says %v, attach says %v", d.Workload, d.Err(), err)
		}
		attach, check := sandbox.RefusalOf(err), sandbox.RefusalOf(d.Err())
		if attach != nil && (attach.Remedy != check.Remedy || !strings.Contains(attach.Remedy, "strong (vm, probed)")) {
			t.Errorf("%s: check's remedy is %q, attach's %q", d.Workload, check.Remedy, attach.Remedy)
		}
	}
	for _, d := range router.Check(m, nil) {
		if d.Verdict != sandbox.Deny {
			t.Errorf("%s is %s without any backend", d.Workload, d.Verdict)
		}
	}
}

func TestTheKeyMustFitTheIsolationScope(t *testing.T) {
	t.Parallel()
	m := aManifest()
	m.Policy.MinimumIsolationScope = sandbox.ScopeCall
	perCall := mustAttach(t, mustOpen(t, m, nil, newFake(t, "fake")), "report")
	perThread := mustAttach(t, mustOpen(t, aManifest(), nil, newFake(t, "fake")), "report")
	withCall := key
	withCall.Call = "1"
	nothing := func(context.Context, *sandbox.Session) error { return nil }
	for _, row := range []struct {
		name string
		a    *router.Attachment
		key  sandbox.Key
		ok   bool
	}{
		{"call scope without a call", perCall, key, false},
		{"call scope with a call", perCall, withCall, true},
		{"conversation scope without a call", perThread, key, true},
		{"conversation scope with a call", perThread, withCall, false},
		{"no key", perThread, sandbox.Key{}, false},
	} {
		if err := row.a.Call(t.Context(), row.key, nothing); (err == nil) != row.ok || (!row.ok && !errors.Is(err, sandbox.CodeKeyInvalid)) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

func TestAFailedAcquireLeavesTheKeyUsable(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	a := mustAttach(t, mustOpen(t, aManifest(), nil, f), "report")
	boom := errors.New("boom")
	f.set(func() { f.failAcquire = boom })
	if _, err := a.Acquire(t.Context(), key); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	f.set(func() { f.failAcquire, f.emptySession = nil, true })
	if _, err := a.Acquire(t.Context(), key); !errors.Is(err, sandbox.CodeBackendNotPermitted) {
		t.Errorf("an acquire without a session: %v", err)
	}
	f.set(func() { f.emptySession = false })
	if err := a.Call(t.Context(), key, func(context.Context, *sandbox.Session) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestAClosedRouterServesNothingAndCloseWaits(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	r, err := open(t, aManifest(), nil, f)
	if err != nil {
		t.Fatal(err)
	}
	a := mustAttach(t, r, "report")
	lease, err := a.Acquire(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("close did not wait for the lease: %v", err)
	}
	if _, err := a.Acquire(t.Context(), key); !errors.Is(err, sandbox.CodeRouterClosed) {
		t.Errorf("a closed router serves: %v", err)
	}
	_ = lease.Close(t.Context())
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDisposalAsksEveryBackendWhateverOneAnswers(t *testing.T) {
	t.Parallel()
	one, two := newFake(t, "fake"), newFake(t, "two")
	r := mustOpen(t, aManifest(), nil, one, two)
	one.set(func() { one.failDispose = &sandbox.DisposalFailure{Code: sandbox.DisposalUnreachable, Detail: "gone"} })
	var failure *sandbox.DisposalFailure
	if err := r.Dispose(t.Context(), key); !errors.As(err, &failure) || failure.Detail != "fake: gone" {
		t.Errorf("got %v", err)
	}
	if _, _, asked := two.counts(); asked != 1 {
		t.Error("the second backend was not asked")
	}
	if _, err := r.DisposeScope(t.Context(), "", ""); !errors.Is(err, sandbox.CodeKeyInvalid) {
		t.Errorf("an empty scope: %v", err)
	}
}

func TestOwnersDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	mine := mustOpen(t, aManifest(), nil, f)
	theirs := mustOpen(t, aManifest(), func(o *router.Options) { o.Owner = "others" }, f)
	for _, r := range []*router.Router{mine, theirs} {
		lease, err := mustAttach(t, r, "report").Acquire(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if lease.Origin != sandbox.OriginCreated {
			t.Errorf("adopted another owner's sandbox")
		}
		_ = lease.Close(t.Context())
	}
	got, err := mine.DisposeScope(t.Context(), key.Scope, "")
	if err != nil || got.Disposed != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if live, _, _ := f.counts(); live != 1 {
		t.Errorf("%d sandboxes live, want the other owner's", live)
	}
}

// panicky is an observer that fails; what it observes goes on.
type panicky struct{}

func (panicky) Observe(any) { panic("observer") }

func TestAnObserverThatPanicsHarmsNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	a := mustAttach(t, mustOpen(t, aManifest(), func(o *router.Options) { o.Observer = panicky{} }, f), "report")
	if err := a.Call(t.Context(), key, func(context.Context, *sandbox.Session) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestManyCallersOnManyKeysLeaveNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	a := mustAttach(t, mustOpen(t, aManifest(), nil, f), "report")
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			for j := range 50 {
				k := key
				k.Thread = fmt.Sprint((i + j) % 5)
				if err := a.Call(t.Context(), k, func(context.Context, *sandbox.Session) error { return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	if live, _, _ := f.counts(); live != 0 {
		t.Errorf("%d sandboxes left", live)
	}
}
