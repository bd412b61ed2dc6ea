package process

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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

// curl is a program that is told of the proxy by its variables.
const curl = "/usr/bin/curl -sS --max-time 20 "

// put writes a file.
func (b box) put(path string, content []byte) {
	b.t.Helper()
	if err := b.Write(b.t.Context(), b.ref(path), bytes.NewReader(content), int64(len(content))); err != nil {
		b.t.Fatal(err)
	}
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

func TestEgressIsWhatTheRulesAdmitAndNothingElse(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com", "neighbour.example.com")
	e := newEngine(t, inWorld(t, world))
	b := startWith(t, e, "a", sandbox.Egress{
		Hosts: []string{"api.example.com"},
		Rules: map[string]sandbox.EgressRule{"plain": rule("api.example.com", "80", "*", "*")},
	})
	b.put("/work/roots.pem", world.RootPEM())
	for command, want := range map[string]string{
		curl + "--cacert roots.pem https://api.example.com/x": "GET api.example.com/x",
		curl + "http://api.example.com/y":                     "GET api.example.com/y",
	} {
		if got := b.prints(command); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	out := b.prints(curl + "-w '%{http_code}' http://neighbour.example.com/")
	if !strings.Contains(out, `"code":"egress.denied"`) || !strings.Contains(out, "egress_rules") || !strings.HasSuffix(out, "403") {
		t.Errorf("the neighbour: %q", out)
	}
	if out, code := b.sh(curl + "--cacert roots.pem https://neighbour.example.com/"); code != 56 || !strings.Contains(out, "403") {
		t.Errorf("the neighbour over TLS: %d, %q", code, out)
	}
	if got := b.prints("ls /run/egress; env | grep -e CERT -e CA_BUNDLE -e trustStore; true"); got != "proxy.sock" {
		t.Errorf("where nothing is opened it is told of %q", got)
	}
}

func TestEgressWithoutTheProxyIsNowhere(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com")
	e := newEngine(t, inWorld(t, world))
	b := startWith(t, e, "a", sandbox.Egress{Rules: map[string]sandbox.EgressRule{"plain": rule("api.example.com", "80", "*", "*")}})
	b.prints(curl + "http://api.example.com/")
	to := world.Dials()[0]
	for _, command := range []string{
		"env -i " + curl + "http://api.example.com/",
		"env -i " + curl + "http://" + to.String() + "/",
		"bash -c 'exec 3<>/dev/tcp/" + to.Addr().String() + "/80'",
		"bash -c 'exec 3<>/dev/udp/" + to.Addr().String() + "/53'",
		"bash -c 'exec 3<>/dev/tcp/169.254.169.254/80'",
		"env -i getent hosts api.example.com",
	} {
		if out, code := b.sh(command); code == 0 {
			t.Errorf("%s: %q", command, out)
		}
	}
	if len(world.Dials()) != 1 || len(world.Lookups()) != 1 {
		t.Errorf("looked up %q, connected to %v", world.Lookups(), world.Dials())
	}
	// The families of a sandbox without any network, and no more.
	b.upload("/tmp/probe", probe(t))
	for line := range strings.Lines(b.prints("/tmp/probe families")) {
		fields := strings.Fields(line)
		if !slices.Contains([]string{"1", "2", "10", "16"}, fields[0]) || fields[0] == "16" && fields[2] != "0" {
			t.Errorf("a socket of family, type and protocol %s", line)
		}
	}
	if got := b.prints("cat /proc/net/dev | tail -n +3 | cut -d: -f1"); got != "lo" {
		t.Errorf("interfaces %q", got)
	}
}

func TestEgressIsJudgedTheSameThroughTheSocketItself(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com", "neighbour.example.com")
	e := newEngine(t, inWorld(t, world))
	b := startWith(t, e, "a", sandbox.Egress{Rules: map[string]sandbox.EgressRule{"plain": rule("api.example.com", "80", "*", "*")}})
	ask := func(host string) string {
		return b.prints(`/usr/bin/python3 -c '
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("/run/egress/proxy.sock")
s.sendall(b"GET http://` + host + `/ HTTP/1.1\r\nHost: ` + host + `\r\nConnection: close\r\n\r\n")
while True:
    d = s.recv(4096)
    if not d: break
    print(d.decode())
'`)
	}
	if got := ask("api.example.com"); !strings.Contains(got, "GET api.example.com/") {
		t.Errorf("%q", got)
	}
	if got := ask("neighbour.example.com"); !strings.Contains(got, " 403 ") || !strings.Contains(got, "egress.denied") {
		t.Errorf("%q", got)
	}
}

func TestTheGuestCanNeitherRemoveNorReplaceItsEgressSocket(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com")
	e := newEngine(t, inWorld(t, world))
	b := startWith(t, e, "a", sandbox.Egress{Rules: map[string]sandbox.EgressRule{"read": rule("api.example.com", "80 443", "GET", "*")}})
	for _, command := range []string{
		"rm -f /run/egress/proxy.sock", "mv /run/egress/proxy.sock /work/x", "ln -f /run/egress/proxy.sock /work/x",
		"touch /run/egress/x", "mkdir /run/x", "mv /run/egress /run/x", "rm -rf /run/egress", "chmod 000 /run/egress/proxy.sock",
		"mount --bind /work /run/egress", "echo x > /run/egress/ca.pem", "rm -f /run/egress/ca.pem", "echo x >> /run/egress/ca.p12",
		`/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/run/egress/proxy.sock")'`,
		`/usr/bin/python3 -c 'import socket; socket.socket().bind(("127.0.0.1", 3128))'`,
	} {
		if out, code := b.sh(command); code == 0 {
			t.Errorf("%s worked: %s", command, out)
		}
	}
	if got := b.prints(curl + "https://api.example.com/"); got != "GET api.example.com/" {
		t.Errorf("%q", got)
	}
}

func TestAClosedSandboxHasNoEgressAtAll(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	open := startWith(t, e, "open", sandbox.Egress{Hosts: []string{"api.example.com"}})
	for name, mode := range map[string]sandbox.EgressMode{"closed": sandbox.EgressClosed, "unsaid": sandbox.EgressUnspecified} {
		started, err := e.Start(t.Context(), engine.StartRequest{Name: name, WorkDir: "/work", Egress: sandbox.Egress{Mode: mode}})
		if err != nil {
			t.Fatal(err)
		}
		b := boxOf(t, started.Guest)
		if got := b.prints("ls /run/egress 2>/dev/null; env | grep -i -e proxy -e 3128 -e egress; bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128' 2>/dev/null && echo connected; true"); got != "" {
			t.Errorf("%s: %q", name, got)
		}
		if inGVisor(e) && hostSockets(t, b) != "none" {
			t.Errorf("%s: gVisor opens host sockets", name)
		}
	}
	if got := open.prints("env | grep -c 3128"); got == "0" {
		t.Errorf("the neighbour is told nothing")
	}
	if inGVisor(e) && hostSockets(t, open) != "open" {
		t.Error("the neighbour's gVisor opens no host sockets")
	}
	if e.host.outlets.dir == "" {
		t.Fatal("no directory")
	}
	if sockets, err := os.ReadDir(e.host.outlets.dir); err != nil || len(sockets) != 1 {
		t.Errorf("%d sockets, %v", len(sockets), err)
	}
}

// hostSockets is what the runsc of a sandbox was started with.
func hostSockets(t *testing.T, b box) string {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		line, err := os.ReadFile(file)
		_, bundle, _ := strings.Cut(string(line), "--bundle=")
		bundle, _, _ = strings.Cut(bundle, "\x00")
		if err != nil || bundle == "" || !strings.Contains(string(line), "\x00run\x00") {
			continue
		}
		config, err := os.ReadFile(filepath.Join(bundle, "config.json"))
		if err != nil || strings.Contains(string(config), proxySocket) != (b.outlet != nil) || !strings.HasPrefix(bundle, b.engine.host.bundles) {
			continue
		}
		_, mode, _ := strings.Cut(string(line), "--host-uds=")
		mode, _, _ = strings.Cut(mode, "\x00")
		return mode
	}
	t.Fatal("no runsc of the sandbox is found")
	return ""
}

func TestTheCallersVariablesOutrankThoseOfEgress(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	b := startWith(t, e, "a", sandbox.Egress{Hosts: []string{"api.example.com"}})
	var out bytes.Buffer
	_, err := b.Exec(t.Context(), engine.ExecRequest{Args: []string{"env"}, Dir: "/work", Stdout: &out, Env: []string{"HTTPS_PROXY=http://127.0.0.1:1", "no_proxy=localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(out.String(), "\n")
	for _, want := range []string{
		"HTTPS_PROXY=http://127.0.0.1:1", "no_proxy=localhost", "https_proxy=http://127.0.0.1:3128", "HTTP_PROXY=http://127.0.0.1:3128",
		"http_proxy=http://127.0.0.1:3128", "ALL_PROXY=http://127.0.0.1:3128", "all_proxy=http://127.0.0.1:3128", "NO_PROXY=", "NODE_USE_ENV_PROXY=1",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not set: %q", want, got)
		}
	}
}
