package backend_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	work   = sandbox.DefaultWorkDir
	owner  = "reports-api"
	digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	other  = "sha256:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
)

// The ways in which an engine can serve files.
var (
	guestBeneath = []engine.Access{{As: sandbox.PrincipalGuest, Links: engine.Beneath}}
	rootFollows  = []engine.Access{{As: sandbox.PrincipalRoot, Links: engine.Follow}}
)

// everyAccess are the options of both kinds of engine.
func everyAccess() map[string]sandboxtest.Options {
	return map[string]sandboxtest.Options{
		"guest beneath": {Access: guestBeneath, RunCode: sandboxtest.Script},
		"root follows":  {Access: rootFollows, RunCode: sandboxtest.Script},
	}
}

// stage is one engine, one backend and one acquired sandbox.
type stage struct {
	*sandbox.Session
	engine  *sandboxtest.Engine
	backend *backend.Backend
	request sandbox.AcquireRequest
	guest   *sandboxtest.View
}

func request(e *sandboxtest.Engine) sandbox.AcquireRequest {
	return sandbox.AcquireRequest{
		Owner:      owner,
		Key:        sandbox.Key{Scope: "tenant", Thread: "conversation", Agent: "analyst"},
		Spec:       sandbox.Spec{Kind: "codeact", Requires: sandboxtest.Declarations(e).Capabilities},
		SpecDigest: digest, PolicyDigest: digest,
	}
}

func newStage(t *testing.T, options sandboxtest.Options, settings ...backend.Option) *stage {
	t.Helper()
	e := sandboxtest.NewEngine(options)
	s := &stage{engine: e, backend: sandboxtest.Backend(t, e, settings...), request: request(e)}
	s.Session = s.acquire(t, s.request).Session
	s.guest = e.View(s.Info().InstanceID)
	return s
}

func (s *stage) acquire(t *testing.T, req sandbox.AcquireRequest) sandbox.Acquired {
	t.Helper()
	acquired, err := s.backend.Acquire(t.Context(), req)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return acquired
}

func (s *stage) write(t *testing.T, path, text string) error {
	t.Helper()
	return s.WriteFile(t.Context(), path, strings.NewReader(text), int64(len(text)))
}

func (s *stage) read(t *testing.T, path string) (string, error) {
	t.Helper()
	data, err := s.ReadFile(t.Context(), path, 1<<20)
	return string(data), err
}

// must fails the test on any of the errors.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// wantCode checks that err is exactly that refusal, and that nothing an engine
// said is repeated in it.
func wantCode(t *testing.T, err error, code sandbox.Code) {
	t.Helper()
	if err == nil {
		t.Fatalf("let through, want %s", code)
	}
	if !errors.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
	if r := sandbox.RefusalOf(err); strings.Contains(r.Found+r.Required+r.Remedy, hostile) {
		t.Errorf("the engine's own words are repeated: %+v", r.Finding)
	}
}

// hostile is what a misbehaving engine says.
const hostile = "/var/lib/daemon/secret-path"

var errHostile = errors.New("failed at " + hostile)

// drain reads a stream to its end.
func drain(r io.ReadCloser) ([]byte, error) {
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// backendOver makes a backend over an engine that wraps one in memory.
func backendOver(t *testing.T, e engine.Engine, inner *sandboxtest.Engine, settings ...backend.Option) *backend.Backend {
	t.Helper()
	b, err := backend.New(e, sandboxtest.Declarations(inner), settings...)
	must(t, err)
	return b
}
