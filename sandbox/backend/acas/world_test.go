package acas_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

const subscription = "00000000-0000-0000-0000-0000000000aa"

// world is an emulator with a group in it, and a way to it that can be tampered with.
type world struct {
	*sandboxtest.ACAS
	config acas.Config
	began  chan struct{} // holds one when a command has begun since it was emptied

	mu     sync.Mutex
	tamper func(request *http.Request, body []byte) []byte
	uid    string                 // what id says in guests
	shown  *sandboxtest.ACASFiles // by showFiles
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{began: make(chan struct{}, 1), uid: "0"}
	w.ACAS = sandboxtest.StartACAS(t, sandboxtest.ACASOptions{Shell: w.shell(t)})
	w.config = acas.Config{
		Subscription: subscription, ResourceGroup: "rg", Group: "g", Endpoint: w.URL,
		Transport: w, Credential: auth.Emulator{},
	}
	if _, err := w.client(t).PutGroup(t.Context(), w.group(), wire.Group{Location: "swedencentral"}, acasapi.Wait{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// client is another hand's way to the service.
func (w *world) client(t *testing.T) *acasapi.Client {
	t.Helper()
	client, err := acasapi.New(acasapi.Config{
		ARMEndpoint: w.URL, DataEndpoint: w.URL, ExactEndpoints: []string{w.URL}, Transport: w.ACAS, Credential: auth.Emulator{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (w *world) group() acasapi.GroupID {
	return acasapi.GroupID{Subscription: w.config.Subscription, ResourceGroup: w.config.ResourceGroup, Name: w.config.Group}
}

// Do passes requests on, and lets the test change answers.
func (w *world) Do(r *http.Request) (*http.Response, error) {
	resp, err := w.ACAS.Do(r)
	w.mu.Lock()
	tamper := w.tamper
	w.mu.Unlock()
	if err != nil || tamper == nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	body = tamper(r, body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

func (w *world) tampers(f func(r *http.Request, body []byte) []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tamper = f
}

func (w *world) engine(t *testing.T) *acas.Engine {
	t.Helper()
	e, err := acas.NewEngine(w.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func request(hosts ...string) engine.StartRequest {
	return engine.StartRequest{
		Name: "sbx-one", Labels: map[string]string{"sandbox.owner": "o", "team": "x"}, WorkDir: "/work",
		Image: sandbox.Image{Prebuilt: "ubuntu"}, Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: hosts},
	}
}

func (w *world) start(t *testing.T, e *acas.Engine, req engine.StartRequest) engine.Started {
	t.Helper()
	started, err := e.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return started
}

var inputFile = regexp.MustCompile(`/tmp/\.sandbox-in-[A-Z0-9]+`)

// shell runs commands with this machine's shell. What they are given to read is
// taken from the guest.
func (w *world) shell(t *testing.T) func(context.Context, *sandboxtest.ACASFiles, engine.ExecRequest) (int, error) {
	t.Helper()
	dir, programs := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "id"), []byte("#!/bin/sh\necho $GUEST_UID\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, files *sandboxtest.ACASFiles, req engine.ExecRequest) (int, error) {
		script := req.Args[2]
		if script == showFiles {
			w.shown = files // who asks holds the lock
			return 0, nil
		}
		if name := inputFile.FindString(script); name != "" {
			data, err := files.Read(name)
			if err != nil {
				return 0, err
			}
			here := filepath.Join(dir, filepath.Base(name))
			if err := os.WriteFile(here, data, 0o600); err != nil {
				return 0, err
			}
			script = strings.ReplaceAll(script, name, here)
		}
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
		cmd.Dir, cmd.Stdout, cmd.Stderr = req.Dir, req.Stdout, req.Stderr
		cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "GUEST_UID="+w.uid)
		cmd.WaitDelay = 100 * time.Millisecond // for what the shell started, which ends by itself
		select {
		case w.began <- struct{}{}:
		default:
		}
		err := cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
			return exit.ExitCode(), nil
		}
		return 0, err
	}
}
