package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// Two workloads of one kind on two backends have one key and two sandboxes.
func TestOverlappingCallsOnTwoBackendsDisposeBoth(t *testing.T) {
	t.Parallel()
	first, second := newFake(t, "fake"), newFake(t, "second")
	m := aManifest()
	twin := m.Workloads["report"]
	twin.Backend = "second"
	m.Workloads["twin"] = twin
	r := mustOpen(t, m, nil, first, second)
	one, two := mustAttach(t, r, "report"), mustAttach(t, r, "twin")
	err := two.Call(t.Context(), key, func(ctx context.Context, _ *sandbox.Session) error {
		return one.Call(ctx, key, func(context.Context, *sandbox.Session) error { return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*fakeBackend{first, second} {
		if live, made, _ := f.counts(); live != 0 || made != 1 {
			t.Errorf("%s: %d live of %d made", f.name, live, made)
		}
	}
}

// A sandbox that is disposed under its holder is replaced for the next one. The
// holder ends last and cleans up the first; the second must not be forgotten.
func TestASandboxReplacedUnderACallIsDisposedToo(t *testing.T) {
	t.Parallel()
	f := newFake(t, "fake")
	r := mustOpen(t, aManifest(), nil, f)
	a := mustAttach(t, r, "report")
	err := a.Call(t.Context(), key, func(ctx context.Context, _ *sandbox.Session) error {
		return errors.Join(r.Dispose(ctx, key), a.Call(ctx, key, func(context.Context, *sandbox.Session) error { return nil }))
	})
	if err != nil {
		t.Fatal(err)
	}
	if live, made, _ := f.counts(); live != 0 || made != 2 {
		t.Errorf("%d live of %d made", live, made)
	}
}

// The names of workloads are the manifest's, and a refusal is one short line.
func TestARefusalRepeatsNoNamesAsTheyAre(t *testing.T) {
	t.Parallel()
	m := aManifest()
	for i := range 1000 {
		m.Workloads[fmt.Sprintf("a%d egress.mode at backend '\"\\", i)] = m.Workloads["report"]
	}
	r := mustOpen(t, m, nil, newFake(t, "fake"))
	for _, name := range []string{"nobody", "x\n egress.mode at backend", strings.Repeat("x", 1<<20)} {
		_, err := r.Attach(t.Context(), name)
		if !errors.Is(err, sandbox.CodeWorkloadUnknown) {
			t.Fatal(err)
		}
		if text := err.Error(); strings.ContainsAny(text, "\n\x1b") || len(text) > 4000 {
			t.Errorf("%d bytes: %.300q", len(text), text)
		}
	}
}

// panicking is a backend with a bug.
type panicking struct {
	*fakeBackend
	acquire, dispose bool
}

var errBug = errors.New("a bug of the backend")

func (p *panicking) Acquire(ctx context.Context, req sandbox.AcquireRequest) (sandbox.Acquired, error) {
	if p.acquire {
		panic(errBug)
	}
	return p.fakeBackend.Acquire(ctx, req)
}

func (p *panicking) Dispose(ctx context.Context, req sandbox.DisposeRequest) *sandbox.DisposalFailure {
	if p.dispose {
		panic(errBug)
	}
	return p.fakeBackend.Dispose(ctx, req)
}

// A host may recover a panic, as HTTP servers do. The router then still closes,
// and the key's next caller neither waits for ever nor meets an unclean sandbox.
func TestABackendThatPanicsLeavesTheRouterWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		acquire, dispose bool
		use              func(context.Context, *router.Attachment) error
		next             error
	}{
		"an acquire": {acquire: true, use: func(ctx context.Context, a *router.Attachment) error {
			_, err := a.Acquire(ctx, key)
			return err
		}},
		"the acquire of a call": {acquire: true, use: func(ctx context.Context, a *router.Attachment) error {
			return a.Call(ctx, key, func(context.Context, *sandbox.Session) error { return nil })
		}},
		"the disposal of a call": {dispose: true, use: func(ctx context.Context, a *router.Attachment) error {
			return a.Call(ctx, key, func(context.Context, *sandbox.Session) error { return nil })
		}, next: sandbox.CodeSandboxUnclean},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &panicking{fakeBackend: newFake(t, "fake"), acquire: c.acquire, dispose: c.dispose}
			r := mustOpen(t, aManifest(), nil, b) // closes at the end, and waits for what is in flight
			a := mustAttach(t, r, "report")
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic was swallowed")
					}
				}()
				_ = c.use(t.Context(), a)
			}()
			b.acquire, b.dispose = false, false
			lease, err := a.Acquire(t.Context(), key)
			if !errors.Is(err, c.next) {
				t.Fatalf("the next acquire: %v", err)
			}
			if err == nil {
				_ = lease.Close(t.Context())
			}
			if err := r.Dispose(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			if lease, err = a.Acquire(t.Context(), key); err != nil {
				t.Fatalf("after the disposal: %v", err)
			}
			_ = lease.Close(t.Context())
		})
	}
}
