package process

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// newWorld has a site that answers with what it was asked.
func newWorld(t *testing.T, names ...string) *egressworld.World {
	t.Helper()
	world, err := egressworld.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(world.Close)
	for _, name := range names {
		_, err := world.Site(name, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s %s%s", r.Method, r.Host, r.URL.Path)
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	return world
}

// inWorld is testConfig with a world to reach.
func inWorld(t *testing.T, world *egressworld.World) Config {
	t.Helper()
	c := testConfig(t)
	c.Egress = EgressConfig{Resolver: world, RootsPEM: world.RootPEM(), Connect: world.Connect}
	return c
}

// startWith starts a sandbox that may reach hosts, and what rules say.
func startWith(t *testing.T, e *Engine, name string, egress sandbox.Egress) box {
	t.Helper()
	egress.Mode = sandbox.EgressAllowlist
	started, err := e.Start(t.Context(), engine.StartRequest{Name: name, WorkDir: "/work", Egress: egress})
	if err != nil {
		t.Fatal(err)
	}
	return boxOf(t, started.Guest)
}

func rule(host, ports, methods, paths string) sandbox.EgressRule {
	return sandbox.EgressRule{Host: host, Ports: strings.Fields(ports), Methods: strings.Fields(methods), Paths: strings.Fields(paths)}
}

func TestASandboxReachesWhatItsRulesAdmitAndNothingElse(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com", "neighbour.example.com")
	e := newEngine(t, inWorld(t, world))
	b := startWith(t, e, "a", sandbox.Egress{
		Hosts: []string{"api.example.com"},
		Rules: map[string]sandbox.EgressRule{"plain": rule("api.example.com", "80", "*", "*")},
	})
	if err := b.Write(context.Background(), b.ref("/work/roots.pem"), strings.NewReader(string(world.RootPEM())), int64(len(world.RootPEM()))); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"curl -sS --max-time 20 --cacert roots.pem https://api.example.com/x": "GET api.example.com/x",
		"curl -sS --max-time 20 http://api.example.com/y":                      "GET api.example.com/y",
	} {
		if got := b.prints(command); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	out := b.prints("curl -sS --max-time 20 -w '%{http_code}' http://neighbour.example.com/")
	if !strings.Contains(out, `"code":"egress.denied"`) || !strings.HasSuffix(out, "403") {
		t.Errorf("the neighbour: %q", out)
	}
	if out, code := b.sh("env -i /usr/bin/curl -sS --max-time 5 http://api.example.com/"); code == 0 {
		t.Errorf("without the proxy: %q", out)
	}
}
