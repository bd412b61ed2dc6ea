package acasemu_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestWhatTheEmulatorDoesNotPlayIsNamed(t *testing.T) {
	t.Parallel()
	guests := memguests.New(memguests.Options{Exec: func(context.Context, *memguests.View, engine.ExecRequest) (int, error) { return 0, nil }})
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Guests: guests})
	w.group(t, "g")
	sandbox := w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
	for _, row := range []struct {
		what, method, path, body, host, upgrade string
		status                                  int
		title                                   string
	}{
		{what: "a stream of a command", method: "GET", path: sandbox + "/exec/stream", upgrade: "websocket", status: 501, title: "StreamsAreNotPlayed"},
		{what: "a stream that is asked for without the upgrade", method: "GET", path: sandbox + "/logstream", status: 501, title: "StreamsAreNotPlayed"},
		{what: "a path that is none", method: "GET", path: sandbox + "/exec/other", status: 404, title: "NotFound"},
		{what: "the same command without a stream", method: "POST", path: sandbox + "/executeShellCommand", body: `{"command":"x"}`, status: 200},
		{what: "a page on a port", method: "GET", path: "/", host: "7b0c--8080.swedencentral.adcproxy.io", status: 501, title: "PortsAreNotPlayed"},
		{what: "a page on a port by a path of the emulator's", method: "GET", path: "/_emulator/requests", host: "7b0c--8080.swedencentral.adcproxy.io:443", status: 501, title: "PortsAreNotPlayed"},
		{what: "a host that is like a port's", method: "GET", path: sandbox, host: "adcproxy.io.example", status: 200},
		{what: "the port itself", method: "POST", path: sandbox + "/ports/add", body: `{"port":8080,"auth":{"anonymous":true}}`, status: 200},
	} {
		req := w.request(t, row.method, row.path, row.body)
		if row.host != "" {
			req.Host = row.host
		}
		if row.upgrade != "" {
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", row.upgrade)
		}
		r := w.send(t, req)
		if r.status != row.status {
			t.Errorf("%s: %d %s", row.what, r.status, r.body)
		} else if title, _ := r.doc(t)["title"].(string); row.status >= http.StatusBadRequest && title != row.title {
			t.Errorf("%s: %q", row.what, title)
		}
	}
}
