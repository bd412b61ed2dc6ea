package router_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// fakeBackend keeps sandboxes by identity, checks what it is asked, and can be
// told to fail.
type fakeBackend struct {
	t     *testing.T
	name  string
	decls sandbox.Declarations

	mu           sync.Mutex
	live         map[string]string // identity to instance
	made         int
	acquires     []sandbox.AcquireRequest
	disposals    []sandbox.DisposeRequest
	failAcquire  error
	failDispose  *sandbox.DisposalFailure
	emptySession bool
}

func newFake(t *testing.T, name string) *fakeBackend {
	t.Helper()
	caps := sandbox.SetOf(sandbox.CapabilityRunCode, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut)
	probed := sandbox.Evidence{Kind: sandbox.EvidenceProbed}
	return &fakeBackend{
		t: t, name: name, live: map[string]string{},
		decls: sandbox.Declarations{
			Backend: name, Isolation: sandbox.IsolationContainer, IsolationEvidence: probed, Capabilities: &caps,
			EgressModes: sandbox.SetOf(sandbox.EgressClosed),
			Guarantees: map[sandbox.Guarantee]sandbox.Evidence{
				sandbox.GuaranteeDNSConfined: probed, sandbox.GuaranteeMetadataDenied: probed, sandbox.GuaranteeUDPDenied: probed,
			},
			IsolationScopes: sandbox.SetOf(sandbox.ScopeConversation, sandbox.ScopeCall),
		},
	}
}

func identity(owner string, key sandbox.Key, kind string) string {
	return strings.Join([]string{owner, key.Scope, key.Thread, key.Agent, key.Call, kind}, "\x00")
}

func (f *fakeBackend) Name() string                       { return f.name }
func (f *fakeBackend) Declarations() sandbox.Declarations { return f.decls }

func (f *fakeBackend) Acquire(_ context.Context, req sandbox.AcquireRequest) (sandbox.Acquired, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acquires = append(f.acquires, req)
	if f.failAcquire != nil {
		return sandbox.Acquired{}, f.failAcquire
	}
	if f.emptySession {
		return sandbox.Acquired{}, nil
	}
	id := identity(req.Owner, req.Key, req.Spec.Kind)
	origin := sandbox.OriginAdopted
	if f.live[id] == "" {
		f.made++
		f.live[id] = fmt.Sprintf("instance-%d", f.made)
		origin = sandbox.OriginCreated
	}
	return sandbox.Acquired{Origin: origin, Session: sandbox.NewSession(sandbox.SessionInfo{
		Owner: req.Owner, Key: req.Key, Kind: req.Spec.Kind, Backend: f.name, InstanceID: f.live[id],
		Capabilities: req.Spec.RequiredCapabilities(), SpecDigest: req.SpecDigest, PolicyDigest: req.PolicyDigest,
	}, nil)}, nil
}

func (f *fakeBackend) Dispose(ctx context.Context, req sandbox.DisposeRequest) *sandbox.DisposalFailure {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disposals = append(f.disposals, req)
	if ctx.Err() != nil {
		f.t.Errorf("disposed on a context that has ended: %v", ctx.Err())
	}
	if f.failDispose != nil {
		return f.failDispose
	}
	for id, instance := range f.live {
		if strings.HasPrefix(id, identity(req.Owner, req.Key, req.Kind)) && (req.InstanceID == "" || req.InstanceID == instance) {
			delete(f.live, id)
		}
	}
	return nil
}

func (f *fakeBackend) DisposeScope(_ context.Context, owner, scope, thread string) sandbox.ScopeDisposal {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failDispose != nil {
		return sandbox.ScopeDisposal{Undisposed: f.failDispose}
	}
	prefix := owner + "\x00" + scope + "\x00"
	if thread != "" {
		prefix += thread + "\x00"
	}
	n := 0
	for id := range f.live {
		if strings.HasPrefix(id, prefix) {
			delete(f.live, id)
			n++
		}
	}
	return sandbox.ScopeDisposal{Disposed: n}
}

func (f *fakeBackend) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeBackend) counts() (live, made, disposals int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.live), f.made, len(f.disposals)
}

// events is an observer that keeps what it is told.
type events struct {
	mu   sync.Mutex
	seen []any
}

func (e *events) Observe(event any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, event)
}

func runCode() *sandbox.CapabilitySet {
	s := sandbox.SetOf(sandbox.CapabilityRunCode, sandbox.CapabilityFilesOut)
	return &s
}

// aManifest fits the fake backend named "fake".
func aManifest() manifest.Manifest {
	return manifest.Manifest{
		Policy: sandbox.Policy{
			Name: "agents", MinimumIsolation: sandbox.IsolationContainer, MissingGuarantees: sandbox.MissingGuaranteesRefuse,
		},
		Workloads: map[string]sandbox.Spec{
			"report": {Kind: "codeact", Backend: "fake", Requires: runCode()},
			"other":  {Kind: "other", Backend: "fake", Requires: runCode()},
		},
	}
}

func open(t *testing.T, m manifest.Manifest, change func(*router.Options), backends ...router.Backend) (*router.Router, error) {
	t.Helper()
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	opts := router.Options{
		Manifest: b, Accept: []manifest.Digest{manifest.DigestOf(b)}, Owner: "reports", Backends: backends,
	}
	if change != nil {
		change(&opts)
	}
	return router.Open(t.Context(), opts)
}

func mustOpen(t *testing.T, m manifest.Manifest, change func(*router.Options), backends ...router.Backend) *router.Router {
	t.Helper()
	r, err := open(t, m, change, backends...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func mustAttach(t *testing.T, r *router.Router, workload string) *router.Attachment {
	t.Helper()
	a, err := r.Attach(t.Context(), workload)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
