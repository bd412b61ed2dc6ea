package acasemu_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
)

func TestWhatWasMadeIsThereAfterARestart(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state.db")
	first := newWorld(t, acasemu.Config{State: state, Pace: atOnce()})
	first.group(t, "g")
	id := first.sandbox(t, "g")
	first.must(t, first.request(t, "PUT", first.data("g")+"/secrets/svc", `{"values":{"k":"v"}}`))
	first.stop(t)
	second := newWorld(t, acasemu.Config{State: state, Pace: atOnce()})
	if got := second.state(t, second.data("g")+"/sandboxes/"+id); got != "Running" {
		t.Errorf("the sandbox is %s", got)
	}
	if r := second.post(t, second.data("g")+"/secrets/svc/peek", ""); string(r.body) != `{"id":"svc","values":{"k":"v"}}` {
		t.Errorf("the secret is %s", r.body)
	}
}

// A guest that ended with its process leaves a sandbox that has failed, and can be
// deleted.
func TestASandboxWithoutItsGuestHasFailed(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state.db")
	first := newWorld(t, acasemu.Config{State: state, Pace: atOnce(), Guests: memguests.New(memguests.Options{Exec: toy})})
	first.group(t, "g")
	path := first.data("g") + "/sandboxes/" + first.sandbox(t, "g")
	first.stop(t)
	second := newWorld(t, acasemu.Config{State: state, Pace: atOnce(), Guests: memguests.New(memguests.Options{Exec: toy})})
	if r := second.post(t, path+"/executeShellCommand", `{"command":"say x"}`); r.status != http.StatusConflict {
		t.Errorf("a command: %d %s", r.status, r.body)
	}
	if got := second.state(t, path); got != "Failed" {
		t.Errorf("it is %s", got)
	}
	if r := second.ask(t, "DELETE", path, ""); r.status != http.StatusOK {
		t.Errorf("it stays: %d", r.status)
	}
}

func TestEmulatorsShareAState(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state.db")
	one := newWorld(t, acasemu.Config{State: state, Pace: atOnce()})
	two := newWorld(t, acasemu.Config{State: state, Pace: atOnce()})
	one.group(t, "g")
	var all sync.WaitGroup
	for _, w := range []*world{one, two} {
		for range 3 {
			all.Go(func() {
				for range 10 {
					w.sandbox(t, "g")
				}
			})
		}
	}
	all.Wait()
	for _, w := range []*world{one, two} {
		if r := w.get(t, w.data("g")+"/sandboxes/count"); string(r.body) != "60" {
			t.Errorf("%s sandboxes of 60", r.body)
		}
	}
}

func TestAGuestEndsThoughAnotherProcessDeletedItsSandbox(t *testing.T) {
	t.Parallel()
	state, guests := filepath.Join(t.TempDir(), "state.db"), memguests.New(memguests.Options{})
	one := newWorld(t, acasemu.Config{State: state, Pace: atOnce(), Guests: guests})
	one.group(t, "g")
	kept, gone := one.sandbox(t, "g"), one.sandbox(t, "g")
	two := newWorld(t, acasemu.Config{State: state, Pace: atOnce()})
	two.ask(t, "DELETE", two.data("g")+"/sandboxes/"+gone, "")
	if err := one.emulator.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids := guests.IDs(); len(ids) != 1 || ids[0] != kept {
		t.Errorf("the guests are %q, not %q", ids, kept)
	}
}

// picky are guests that cannot play everything.
type picky struct {
	*memguests.Guests
	start, mount error
}

func (p picky) Start(ctx context.Context, b acasemu.Boot) error {
	if p.start != nil {
		return p.start
	}
	return p.Guests.Start(ctx, b)
}

func (p picky) Mount(context.Context, string, acasemu.Mount) error { return p.mount }

func TestWhatGuestsCannotPlayIsNamedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	no := &acasemu.Unsupported{Title: "NoOtherUser", Detail: "these guests run as one user"}
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Guests: picky{Guests: memguests.New(memguests.Options{}), start: no}})
	w.group(t, "g")
	if r := w.put(t, w.data("g")+"/sandboxes", smallest); r.status != http.StatusNotImplemented || r.doc(t)["title"] != "NoOtherUser" {
		t.Errorf("a start: %d %s", r.status, r.body)
	}
	if r := w.get(t, w.data("g")+"/sandboxes"); string(r.body) != "[]" {
		t.Errorf("left are %s", r.body)
	}
	w = newWorld(t, acasemu.Config{Pace: atOnce(), Guests: picky{Guests: memguests.New(memguests.Options{}), mount: no}})
	w.group(t, "g")
	path := w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
	w.must(t, w.request(t, "PUT", w.data("g")+"/volumes/vol", `{"type":"AzureBlob"}`))
	if r := w.post(t, path+"/volumes/add", `{"volumeMount":{"volumeName":"vol","mountpoint":"/m"}}`); r.status != http.StatusNotImplemented {
		t.Errorf("a mount: %d %s", r.status, r.body)
	}
	if got := fmt.Sprint(w.get(t, path).doc(t)["volumes"]); got != "[]" {
		t.Errorf("mounted are %s", got)
	}
}

func TestAStateThatOthersHoldIsToldOf(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state.db")
	w := newWorld(t, acasemu.Config{State: state, StateWait: 20 * time.Millisecond, Pace: atOnce()})
	w.group(t, "g")
	held, err := bbolt.Open(state, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := w.get(t, w.arm("g")); r.status != http.StatusServiceUnavailable || !strings.Contains(string(r.body), "in use by another process") {
		t.Errorf("a held state: %d %s", r.status, r.body)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if r := w.get(t, w.arm("g")); r.status != http.StatusOK {
		t.Errorf("a state that was let go: %d", r.status)
	}
}

func TestNoSecretStandsInAnyFileInClear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, acasemu.Config{State: filepath.Join(dir, "state.db"), Pace: atOnce(), Guests: memguests.New(memguests.Options{})})
	w.group(t, "g")
	const sentinel = "sentinel-5bd1"
	transform := `{"defaultAction":"Deny","rules":[{"match":{"host":"a.example"},"action":{"type":"Transform","headers":[{"operation":"Set","name":"Authorization","value":"` + sentinel + `"}]}}]}`
	sandbox := strings.Replace(smallest, `"labels"`, `"environment":{"TOKEN":"`+sentinel+`"},"anthropicApiKey":"`+sentinel+`","egressPolicy":`+transform+`,"labels"`, 1)
	made := w.must(t, w.request(t, "PUT", w.data("g")+"/sandboxes", sandbox)).doc(t)
	path := fmt.Sprintf("%s/sandboxes/%v", w.data("g"), made["id"])
	w.must(t, w.request(t, "POST", path+"/egresspolicy", transform))
	w.must(t, w.request(t, "POST", path+"/snapshot", "{}"))
	w.must(t, w.request(t, "PUT", w.data("g")+"/secrets/svc", `{"values":{"k":"`+sentinel+`"}}`))
	w.must(t, w.request(t, "PUT", w.data("g")+"/diskimages", `{"image":{"base":"r.example/a:1"},"registryCredentials":{"username":"u","token":"`+sentinel+`"}}`))
	for method, c := range map[string][2]string{
		"PUT": {"/credentials/c", `{"password":"` + sentinel + `"}`}, "POST": {"/connections", `{"apiKey":"` + sentinel + `"}`},
	} {
		if r := w.plain(t, method, w.data("g")+c[0]+"?api-version=2026-09-01-preview", dataAudience, c[1]); r.status != http.StatusCreated {
			t.Errorf("%s: %d %s", c[0], r.status, r.body)
		}
	}
	build := `{"source":{"kind":"registry","imageUrl":"r.example/a:1","authentication":{"registryCredentials":{"username":"u","token":"` + sentinel + `"}}}}`
	if r := w.plain(t, "POST", w.data("g")+"/diskimages?api-version=2026-09-01-preview", dataAudience, build); r.status != http.StatusCreated || strings.Contains(string(r.body), sentinel) {
		t.Errorf("a build: %d %s", r.status, r.body)
	}
	if r := w.get(t, path); !strings.Contains(string(r.body), sentinel) {
		t.Errorf("the policy does not come back as it was sent: %s", r.body)
	}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(name)
		if bytes.Contains(raw, []byte(sentinel)) {
			t.Errorf("%s tells the secret", filepath.Base(name))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestManyClientsAtOnceLeaveNothing(t *testing.T) {
	t.Parallel()
	guests := memguests.New(memguests.Options{Exec: toy})
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Guests: guests})
	w.group(t, "g")
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 4 {
				path := w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
				for _, step := range [][3]string{
					{"PUT", "/files?path=/a", "x"},
					{"POST", "/executeShellCommand", `{"command":"say x"}`},
					{"POST", "/stop", ""},
					{"POST", "/resume", ""},
					{"POST", "/ports/add", `{"port":80}`},
					{"POST", "/lifecycle", `{}`},
					{"GET", "", ""},
					{"DELETE", "", ""},
				} {
					if r := w.ask(t, step[0], path+step[1], step[2]); r.status >= 300 {
						t.Errorf("%s %s: %d %s", step[0], step[1], r.status, r.body)
					}
				}
			}
		})
	}
	all.Wait()
	if left := guests.IDs(); len(left) > 0 {
		t.Errorf("%d guests are left", len(left))
	}
	if r := w.get(t, w.data("g")+"/sandboxes"); string(r.body) != "[]" {
		t.Errorf("left are %s", r.body)
	}
}
