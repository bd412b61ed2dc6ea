package sandboxtest_test

import (
	"context"
	"io"
	"maps"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// broken is an engine with one thing wrong.
type broken struct {
	*sandboxtest.Engine
	start  func(engine.StartRequest) engine.StartRequest
	labels bool // answers the labels that were asked for
	keeps  bool // deletes nothing
	guest  func(engine.Guest) engine.Guest
}

func (b broken) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	asked := maps.Clone(req.Labels)
	if b.start != nil {
		req = b.start(req)
	}
	started, err := b.Engine.Start(ctx, req)
	if err != nil {
		return started, err
	}
	if b.labels {
		started.Labels = asked
	}
	if b.guest != nil {
		started.Guest = b.guest(started.Guest)
	}
	return started, nil
}

func (b broken) Delete(ctx context.Context, id string) error {
	if b.keeps {
		return nil
	}
	return b.Engine.Delete(ctx, id)
}

// wrapped is a guest with one thing wrong.
type wrapped struct {
	engine.Guest
	engine.CodeRunner
	ref   func(engine.FileRef) engine.FileRef
	write func(io.Reader, int64) (io.Reader, int64)
	tree  bool // removes directories unasked
}

func wrap(with wrapped) func(engine.Guest) engine.Guest {
	return func(g engine.Guest) engine.Guest {
		w := with
		w.Guest = g
		w.CodeRunner, _ = g.(engine.CodeRunner)
		if w.ref == nil {
			w.ref = func(ref engine.FileRef) engine.FileRef { return ref }
		}
		return w
	}
}

func (w wrapped) Stat(ctx context.Context, ref engine.FileRef) (engine.Info, error) {
	return w.Guest.Stat(ctx, w.ref(ref))
}

func (w wrapped) Open(ctx context.Context, ref engine.FileRef) (io.ReadCloser, engine.Info, error) {
	return w.Guest.Open(ctx, w.ref(ref))
}

func (w wrapped) Write(ctx context.Context, ref engine.FileRef, content io.Reader, size int64) error {
	if w.write != nil {
		content, size = w.write(content, size)
	}
	return w.Guest.Write(ctx, w.ref(ref), content, size)
}

func (w wrapped) List(ctx context.Context, ref engine.FileRef, yield func(engine.Info) bool) error {
	return w.Guest.List(ctx, w.ref(ref), yield)
}

func (w wrapped) Remove(ctx context.Context, ref engine.FileRef, recursive bool) error {
	return w.Guest.Remove(ctx, w.ref(ref), recursive || w.tree)
}

func TestTheSuitesGoRedOverABrokenEngine(t *testing.T) {
	t.Parallel()
	follow := engine.Access{As: sandbox.PrincipalGuest, Links: engine.Follow}
	for name, mutation := range map[string]broken{
		"beneath follows links": {guest: wrap(wrapped{ref: func(ref engine.FileRef) engine.FileRef {
			ref.Access = follow
			return ref
		}})},
		"one sandbox for every key": {labels: true, start: func(req engine.StartRequest) engine.StartRequest {
			req.Name = "shared"
			return req
		}},
		"reuse without digests":           {labels: true},
		"nothing is deleted":              {keeps: true},
		"directories are removed unasked": {guest: wrap(wrapped{tree: true})},
		"writes are cut short": {guest: wrap(wrapped{write: func(content io.Reader, size int64) (io.Reader, int64) {
			return io.LimitReader(io.TeeReader(content, io.Discard), size/2), size / 2
		}})},
		"writes lose bytes over 127": {guest: wrap(wrapped{write: func(content io.Reader, size int64) (io.Reader, int64) {
			return ascii{content}, size
		}})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mutation.Engine = sandboxtest.NewEngine(sandboxtest.Options{
				RunCode: sandboxtest.Script,
				Access:  []engine.Access{{As: sandbox.PrincipalGuest, Links: engine.Beneath}, follow},
			})
			declarations := sandboxtest.Declarations(mutation.Engine)
			b, err := backend.New(mutation, declarations)
			if err != nil {
				t.Fatal(err)
			}
			results, err := conformance.Run(t.Context(), conformance.Subject{
				Name: name, Backend: b, Spec: sandbox.Spec{Kind: "probe", Requires: declarations.Capabilities},
				Behind: func(id string) (conformance.Guest, error) { return mutation.View(id), nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			for _, r := range results {
				if r.Outcome == conformance.Fail {
					failed++
				}
			}
			if failed == 0 {
				t.Error("no probe noticed")
			}
			t.Logf("%d of %d probes noticed", failed, len(results))
		})
	}
}

// ascii clears the high bit of every byte.
type ascii struct{ r io.Reader }

func (a ascii) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	for i := range p[:n] {
		p[i] &= 0x7f
	}
	return n, err
}

func TestAProbeThatCannotBeAskedIsSkippedWithItsReason(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	only := sandbox.SetOf(sandbox.CapabilityFilesIn)
	results, err := conformance.Run(t.Context(), conformance.Subject{
		Name: "in only", Backend: sandboxtest.Backend(t, e), Spec: sandbox.Spec{Kind: "probe", Requires: &only},
	})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[conformance.Outcome]int{}
	for _, r := range results {
		outcomes[r.Outcome]++
		if r.Outcome != conformance.Pass && r.Detail == "" {
			t.Errorf("%s/%s: %s without a reason", r.Suite, r.Probe, r.Outcome)
		}
	}
	if outcomes[conformance.Fail] != 0 || outcomes[conformance.Pass] == 0 || outcomes[conformance.Skip] == 0 {
		t.Errorf("%v", outcomes)
	}
	if _, err := conformance.Run(t.Context(), conformance.Subject{}); err == nil {
		t.Error("a subject without a backend was probed")
	}
}
