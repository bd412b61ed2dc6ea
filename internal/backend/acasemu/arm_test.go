package acasemu_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
)

// follow asks an operation, whose address the server gave, until it ends.
func (w *world) follow(t *testing.T, r reply) []string {
	t.Helper()
	address := r.header.Get("Azure-AsyncOperation")
	u, err := url.Parse(address)
	if err != nil || strings.Contains(address, " ") || "https://"+u.Host != w.url {
		t.Fatalf("the operation is at %q", address)
	}
	var seen []string
	for range 10 {
		status, _ := w.plain(t, "GET", u.RequestURI(), armAudience, "").doc(t)["status"].(string)
		seen = append(seen, status)
		if status != "InProgress" {
			return seen
		}
	}
	t.Fatal("the operation does not end")
	return nil
}

func TestAGroupIsMadeChangedAndRemovedWithAllInIt(t *testing.T) {
	t.Parallel()
	guests := memguests.New(memguests.Options{})
	state := filepath.Join(t.TempDir(), "state.db")
	w := newWorld(t, acasemu.Config{State: state, Guests: guests, Pace: &acasemu.Pace{ARM: acasemu.Delay{Looks: 2}}})
	r := w.put(t, w.arm("g"), `{"location":"Sweden Central","tags":{"a":"b"}}`)
	if r.status != http.StatusCreated || !strings.Contains(string(r.body), `"provisioningState":"InProgress"`) {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if seen := w.follow(t, r); strings.Join(seen, " ") != "InProgress InProgress Succeeded" {
		t.Errorf("the operation went %q", seen)
	}
	if r := w.get(t, w.arm("g")); !strings.Contains(string(r.body), `"provisioningState":"Succeeded"`) {
		t.Errorf("made it is %s", r.body)
	}
	for body, status := range map[string]int{
		`{"location":"swedencentral"}`: 200, `{"location":"eastus"}`: 409, `{}`: 400, `{"location":"swedencentral","identity":{"type":"Root"}}`: 400,
	} {
		if r := w.put(t, w.arm("g"), body); r.status != status {
			t.Errorf("%s: %d %s, not %d", body, r.status, r.body, status)
		}
	}
	for name, status := range map[string]int{strings.Repeat("a", 32): 201, strings.Repeat("a", 33): 400, "-a": 400, "a.b": 400} {
		if r := w.put(t, w.arm(name), `{"location":"eastus"}`); r.status != status {
			t.Errorf("the name %s: %d, not %d", name, r.status, status)
		}
	}
	id := w.sandbox(t, "g")
	w.must(t, w.request(t, "PUT", w.data("g")+"/secrets/svc", `{"values":{"k":"v"}}`))
	w.must(t, w.request(t, "PUT", w.data("g")+"/volumes/vol", `{"type":"AzureBlob"}`))
	w.must(t, w.request(t, "POST", w.data("g")+"/volumes/vol/files?path=/f", "x"))
	deleted := w.ask(t, "DELETE", w.arm("g"), "")
	if deleted.status != http.StatusAccepted || deleted.header.Get("Location") == "" {
		t.Fatalf("%d, result at %q", deleted.status, deleted.header.Get("Location"))
	}
	if r := w.get(t, w.arm("g")); r.status != http.StatusOK || !strings.Contains(string(r.body), "Deleting") {
		t.Errorf("while it is deleted it is %d %s", r.status, r.body)
	}
	w.follow(t, deleted)
	for _, r := range []reply{w.get(t, w.arm("g")), w.get(t, w.data("g")+"/sandboxes/"+id)} {
		if r.status != http.StatusNotFound {
			t.Errorf("afterwards: %d %s", r.status, r.body)
		}
	}
	if r := w.ask(t, "DELETE", w.arm("g"), ""); r.status != http.StatusNoContent {
		t.Errorf("deleting it again: %d", r.status)
	}
	if len(guests.IDs()) != 0 {
		t.Error("a guest outlived its group")
	}
	if left, err := filepath.Glob(filepath.Join(state+".d", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("files outlived their group: %q, %v", left, err)
	}
	w.group(t, "g")
	if r := w.get(t, w.data("g")+"/secrets"); string(r.body) != `{"secrets":[]}` {
		t.Errorf("a new group of the name has %s", r.body)
	}
}

func TestAnEnvironmentStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	for _, c := range []struct {
		method, body string
		status       int
	}{
		{"PUT", `{"location":"eastus"}`, 201},
		{"PATCH", `{"properties":{"environmentId":"/e/1"}}`, 200},
		{"PATCH", `{"tags":{"a":"b"}}`, 200},
		{"PUT", `{"location":"eastus"}`, 409},
		{"PUT", `{"location":"eastus","properties":{"environmentId":"/e/2"}}`, 409},
		{"PUT", `{"location":"eastus","properties":{"environmentId":"/e/1"}}`, 200},
	} {
		if r := w.ask(t, c.method, w.arm("g"), c.body); r.status != c.status {
			t.Errorf("%s %s: %d %s, not %d", c.method, c.body, r.status, r.body, c.status)
		}
	}
}

func TestTheStableVersionKnowsNoIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.must(t, w.request(t, "PUT", w.arm("g"), `{"location":"eastus","identity":{"type":"SystemAssigned"}}`))
	identity, _ := w.get(t, w.arm("g")).doc(t)["identity"].(map[string]any)
	if identity["principalId"] == nil {
		t.Errorf("the identity is %v", identity)
	}
	const stable = "?api-version=2026-07-01"
	if r := w.plain(t, "PUT", w.arm("g")+stable, armAudience, `{"location":"eastus"}`); r.doc(t)["identity"] != nil {
		t.Errorf("the stable version shows %s", r.body)
	}
	if again, _ := w.get(t, w.arm("g")).doc(t)["identity"].(map[string]any); fmt.Sprint(again) != fmt.Sprint(identity) {
		t.Errorf("the stable version made the identity %v", again)
	}
	w.must(t, w.request(t, "PATCH", w.arm("g"), `{"identity":{"type":"None"}}`))
	if again := fmt.Sprint(w.get(t, w.arm("g")).doc(t)["identity"]); again != "map[type:None]" {
		t.Errorf("removed it is %s", again)
	}
}

func TestASubnetStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	path := w.arm("g") + "/vnetConnections/net"
	for _, c := range []struct {
		method, body string
		status       int
	}{
		{"PUT", `{"properties":{}}`, 400},
		{"PUT", `{"properties":{"subnetId":"/s/1"}}`, 201},
		{"PUT", `{"properties":{"subnetId":"/S/1"}}`, 200},
		{"PUT", `{"properties":{"subnetId":"/s/2"}}`, 409},
		{"GET", "", 200},
		{"DELETE", "", 202},
		{"DELETE", "", 204},
		{"GET", "", 404},
	} {
		if r := w.ask(t, c.method, path, c.body); r.status != c.status {
			t.Errorf("%s %s: %d %s, not %d", c.method, c.body, r.status, r.body, c.status)
		}
	}
}
