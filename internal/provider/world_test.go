package provider

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/listener"
)

// world is a service that the provider under test uses, and a second way into it: what
// somebody else does there.
type world struct {
	provider *sandboxProvider
	// block is the provider block that names the service.
	block string
	// outside is somebody else.
	outside *acasapi.Client
	// subscription, resourceGroup and location are the provider's.
	subscription, resourceGroup, location string
	// file is the state file of the embedded service, acas the block for another.
	file string
	acas map[string]any
	// emulator is nil where the service is not ours.
	emulator *acasemu.Emulator
	// misbehave switches a fault on and calm all off; either may change the block.
	misbehave func(spec string)
	calm      func()
}

// quickClock passes the time that is waited for.
type quickClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *quickClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *quickClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

func newQuickClock() *quickClock { return &quickClock{now: time.Now()} }

// embeddedWorld is the block embedded, with somebody else at the same file.
func embeddedWorld(t *testing.T) *world {
	t.Helper()
	clock := newQuickClock()
	p := offline()
	p.clock = clock
	file := filepath.Join(t.TempDir(), "state.db")
	w := &world{
		provider: p, block: fmt.Sprintf("provider \"sandbox\" {\n  embedded { path = %q }\n}\n", file),
		subscription: embeddedSubscription, resourceGroup: embeddedResourceGroup, location: embeddedLocation,
		file: file,
	}
	sound := w.block
	w.misbehave = func(spec string) {
		w.block = fmt.Sprintf("provider \"sandbox\" {\n  embedded {\n    path   = %q\n    faults = [%q]\n  }\n}\n", file, spec)
	}
	w.calm = func() { w.block = sound }
	emulator, err := acasemu.New(acasemu.Config{State: file, Pace: &acasemu.Pace{}, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	w.emulator = emulator
	w.outside = client(t, acasapi.Config{
		ARMEndpoint: embeddedEndpoint, DataEndpoint: embeddedEndpoint, ExactEndpoints: []string{embeddedEndpoint},
		Transport: emulator.Transport(), Credential: auth.Emulator{}, Clock: clock,
	})
	return w
}

// servedWorld is the block acas, with an emulator behind TLS that takes its time over
// everything as the service does.
func servedWorld(t *testing.T) *world {
	t.Helper()
	clock := newQuickClock()
	dir := t.TempDir()
	emulator, err := acasemu.New(acasemu.Config{State: filepath.Join(dir, "state.db"), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Listen(t.Context(), emulator, listener.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Errorf("closing the emulator: %v", err)
		}
	})
	p := offline()
	p.clock = clock
	p.readFile = func(string) ([]byte, error) { return server.CA(), nil }
	w := serviceAt(p, server.URL())
	w.emulator = emulator
	w.misbehave = func(spec string) {
		if err := emulator.Fault(spec); err != nil {
			t.Fatal(err)
		}
	}
	w.calm = emulator.ClearFaults
	w.outside = client(t, acasapi.Config{
		ARMEndpoint: embeddedEndpoint, DataEndpoint: embeddedEndpoint, ExactEndpoints: []string{embeddedEndpoint},
		Transport: emulator.Transport(), Credential: auth.Emulator{}, Clock: clock,
	})
	return w
}

func serviceAt(p *sandboxProvider, url string) *world {
	w := &world{provider: p, subscription: "11111111-2222-3333-4444-555555555555", resourceGroup: "rg-agents", location: "swedencentral"}
	w.acas = map[string]any{
		"subscription_id": w.subscription, "resource_group": w.resourceGroup, "location": w.location,
		"endpoint": url, "emulator": true, "ca_file": "ca.pem",
	}
	w.block = fmt.Sprintf(`provider "sandbox" {
  acas {
    subscription_id = %q
    resource_group  = %q
    location        = %q
    endpoint        = %q
    emulator        = true
    ca_file         = "ca.pem"
  }
}
`, w.subscription, w.resourceGroup, w.location, url)
	return w
}

// Where a server is that somebody else wrote from the same contract, and the Python
// that runs it.
const (
	interopDir    = "SANDBOX_TEST_INTEROP_DIR"
	interopPython = "SANDBOX_TEST_INTEROP_PYTHON"
)

// foreignWorld is the block acas with that server behind it, where there is one.
func foreignWorld(t *testing.T) *world {
	t.Helper()
	dir, python := os.Getenv(interopDir), os.Getenv(interopPython)
	if dir == "" || python == "" {
		t.Skipf("the other server is named by %s (its folder) and %s (a Python 3.12 with cryptography)", interopDir, interopPython)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	cmd := exec.CommandContext(t.Context(), python, "-m", "fake_acas", "--port", "0", "--ca-out", ca)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s does not start the other server: %v", python, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the other server said nothing: %v\n%s", err, complaints.String())
	}
	var ready struct{ URL, CA string }
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatalf("the other server said %q", line)
	}
	pem, err := os.ReadFile(ready.CA)
	if err != nil {
		t.Fatal(err)
	}
	p := offline()
	p.clock = newQuickClock()
	p.readFile = func(string) ([]byte, error) { return pem, nil }
	w := serviceAt(p, ready.URL)
	w.misbehave = func(spec string) { controlFaults(t, http.MethodPost, ready.URL, pem, spec) }
	w.calm = func() { controlFaults(t, http.MethodDelete, ready.URL, pem, "") }
	cfg, err := p.emulated(acasapi.Config{DataEndpoint: ready.URL}, map[string]string{"ca_file": "ca.pem"})
	if err != nil {
		t.Fatal(err)
	}
	w.outside = client(t, cfg)
	return w
}

// controlFaults switches a fault of the other server on, or all off.
func controlFaults(t *testing.T, method, url string, ca []byte, spec string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"fault": spec})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url+"/_fake/faults", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode >= http.StatusBadRequest {
		t.Fatalf("the other server does not take the fault %q: %d %v", spec, resp.StatusCode, err)
	}
}

// worlds are the services that each object's life is tried in.
func worlds() map[string]func(*testing.T) *world {
	return map[string]func(*testing.T) *world{"embedded": embeddedWorld, "acas": servedWorld, "other server": foreignWorld}
}

func client(t *testing.T, cfg acasapi.Config) *acasapi.Client {
	t.Helper()
	c, err := acasapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// groupID is a group of the world.
func (w *world) groupID(name string) acasapi.GroupID {
	return acasapi.GroupID{Subscription: w.subscription, ResourceGroup: w.resourceGroup, Name: name}
}

// group is somebody else's way into a group.
func (w *world) group(t *testing.T, name string) *acasapi.Group {
	t.Helper()
	g, err := w.outside.Group(w.groupID(name))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// must fails the test on an error of what somebody else does.
func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// apply applies and wants it to succeed.
func (c *cli) apply(t *testing.T, args ...string) string {
	t.Helper()
	out, code := c.run(t, append([]string{"apply", "-auto-approve", "-no-color", "-input=false"}, args...)...)
	if code != 0 {
		t.Fatalf("the apply failed:\n%s", out)
	}
	return out
}

// refused applies and wants it to fail with these words.
func (c *cli) refused(t *testing.T, words ...string) string {
	t.Helper()
	out, code := c.run(t, "apply", "-auto-approve", "-no-color", "-input=false")
	if code == 0 {
		t.Fatalf("the apply did not fail:\n%s", out)
	}
	wants(t, out, words...)
	return out
}

// empty wants a plan without changes.
func (c *cli) empty(t *testing.T) {
	t.Helper()
	if out, code := c.plan(t); code != 0 {
		t.Errorf("the plan is not empty:\n%s", out)
	}
}

// wants looks for words as people see them, whatever lines they are broken into.
func wants(t *testing.T, out string, words ...string) {
	t.Helper()
	plain := squeeze(strings.NewReplacer("│", " ", "\n", " ").Replace(out))
	for _, w := range words {
		if !strings.Contains(plain, squeeze(w)) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
}
