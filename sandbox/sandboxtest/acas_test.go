package sandboxtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// ask sends a request to both ways into an emulator.
func ask(t *testing.T, do func(*http.Request) (*http.Response, error), url, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url+path+"?api-version=2026-02-01-preview", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer opaque")
	req.Header.Set("Content-Type", "application/json")
	resp, err := do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

func TestAnEmulatorIsReachedOverTheNetworkAndWithoutIt(t *testing.T) {
	t.Parallel()
	acas := sandboxtest.StartACAS(t, sandboxtest.ACASOptions{
		Exec: func(_ context.Context, files *sandboxtest.ACASFiles, req engine.ExecRequest) (int, error) {
			_, err := io.WriteString(req.Stdout, "ran")
			return 3, err
		},
	})
	const group = "/subscriptions/s/resourceGroups/rg/sandboxGroups/g"
	over := func(method, path, body string) (int, string) {
		return ask(t, acas.Client(t).Do, acas.URL, method, path, body)
	}
	if status, _ := over("PUT", "/subscriptions/s/resourceGroups/rg/providers/Microsoft.App/sandboxGroups/g", `{"location":"eastus"}`); status != http.StatusCreated {
		t.Fatalf("a group: %d", status)
	}
	const body = `{"sourcesRef":{"diskImage":{"name":"ubuntu","isPublic":true}},"resources":{"cpu":"1000m","memory":"2048Mi"}}`
	if status, got := over("PUT", group+"/sandboxes", body); status != http.StatusOK {
		t.Fatalf("a sandbox: %d %s", status, got)
	}
	ids := acas.Guests()
	if len(ids) != 1 {
		t.Fatalf("%d guests", len(ids))
	}
	sandbox := group + "/sandboxes/" + ids[0]
	if status, got := ask(t, acas.Do, acas.URL, "POST", sandbox+"/executeShellCommand", `{"command":"x"}`); status != http.StatusOK || !strings.Contains(got, `"stdout":"ran"`) {
		t.Errorf("a command: %d %s", status, got)
	}
	acas.Fault(t, "throttle")
	if status, _ := over("GET", sandbox, ""); status != http.StatusTooManyRequests {
		t.Errorf("throttled: %d", status)
	}
	acas.ClearFaults()
	over("DELETE", sandbox, "")
	if left := acas.Guests(); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
	var ops []string
	for _, r := range acas.Requests() {
		ops = append(ops, r.Operation)
	}
	if got := strings.Join(ops, " "); got != "group.put sandbox.create exec.shell sandbox.get sandbox.delete" {
		t.Errorf("there arrived %s", got)
	}
}
