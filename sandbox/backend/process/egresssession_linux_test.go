package process_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// told is who is told of one sandbox's decisions.
type told struct {
	mu     sync.Mutex
	events map[string][]egress.Event // by instance
}

type tells struct {
	id string
	to *told
}

// Observe implements [egress.Observer].
func (t tells) Observe(e egress.Event) {
	if e.End != nil {
		return // what was decided at its beginning
	}
	t.to.mu.Lock()
	defer t.to.mu.Unlock()
	t.to.events[t.id] = append(t.to.events[t.id], e)
}

// As a host sees it: a spec, a session, its instance's events, and a refusal where
// another spec asks for the same sandbox.
func TestASessionReachesWhatItsSpecSays(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bwrap"); err != nil {
		missing(t, "bubblewrap")
	}
	world, err := egressworld.New()
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	if _, err := world.Site("api.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello "+r.Method) })); err != nil {
		t.Fatal(err)
	}
	heard := &told{events: map[string][]egress.Event{}}
	config := process.Config{StateDir: filepath.Join(t.TempDir(), "state"), Egress: process.EgressConfig{
		Resolver: world, Connect: world.Connect, RootsPEM: world.RootPEM(),
		Observer: func(id string) egress.Observer { return tells{id, heard} },
	}}
	if os.Geteuid() == 0 {
		config.Users = process.Users{First: 2_111_000_000 + uint32(os.Getpid()%10_000)*100, Count: 100}
	}
	b, err := process.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	requires := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityReclaim)
	request := sandbox.AcquireRequest{
		Owner: "owner", Key: sandbox.Key{Scope: "s", Thread: "t", Agent: "a"},
		SpecDigest: "sha256:" + strings.Repeat("1", 64), PolicyDigest: "sha256:" + strings.Repeat("2", 64),
		Spec: sandbox.Spec{Kind: "shell", Requires: &requires, Egress: sandbox.Egress{
			Mode:  sandbox.EgressAllowlist,
			Rules: map[string]sandbox.EgressRule{"read": {Host: "api.example.com", Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"*"}}},
		}},
	}
	acquired, err := b.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	s := acquired.Session
	for method, want := range map[string]string{"GET": "hello GET", "POST": `"code":"egress.denied"`} {
		r, err := s.Exec(t.Context(), sandbox.Command{Args: []string{"/usr/bin/curl", "-sS", "-X", method, "https://api.example.com/"}})
		if err != nil || !strings.Contains(string(r.Stdout), want) {
			t.Errorf("%s: %+v, %v", method, r, err)
		}
	}
	other := request
	other.SpecDigest = "sha256:" + strings.Repeat("3", 64)
	other.Spec.Egress = sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"*.example.com"}}
	if _, err := b.Acquire(t.Context(), other); !errors.Is(err, sandbox.CodeReuseDiffers) || !strings.Contains(err.Error(), "egress_hosts, egress_rules") {
		t.Errorf("the sandbox of another egress: %v", err)
	}
	if failure := b.Dispose(t.Context(), sandbox.DisposeRequest{Owner: request.Owner, Key: request.Key, Kind: request.Spec.Kind}); failure != nil {
		t.Fatal(failure)
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	requests := 0
	for _, event := range heard.events[s.Info().InstanceID] {
		if event.Layer == egress.LayerOpened { // how tunnels ended is told beside them
			requests++
		}
	}
	if len(heard.events) != 1 || requests != 2 {
		t.Errorf("%+v", heard.events)
	}
}
