package clients

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

var update = flag.Bool("update", false, "write the page of the documentation")

const (
	table = "../../../docs/egress-clients.md"
	// newNode names a Node that knows proxies, for machines whose own is older.
	newNode = "SANDBOX_TEST_NODE"
	// patience bounds one run of a client.
	patience = 2 * time.Minute
)

// missing fails in CI and skips elsewhere when the machine lacks something.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("this machine lacks %s", what)
	}
	t.Skipf("this machine lacks %s", what)
}

// bench is a place where clients are run.
type bench struct {
	world    *World
	engine   *process.Engine
	programs map[string][]byte // what is put into each sandbox, by name
}

func newBench(t *testing.T) *bench {
	t.Helper()
	for _, program := range []string{"bwrap", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, program)
		}
	}
	world, err := NewWorld(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(world.Close)
	b := &bench{world: world, programs: map[string][]byte{"roots.pem": world.RootPEM()}}
	for _, name := range []string{"Client.java", "client.py", "client.mjs"} {
		b.programs[name] = read(t, filepath.Join("testdata", name))
	}
	built := filepath.Join(t.TempDir(), "go-client")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", built, "./testdata/client")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	b.programs["go-client"] = read(t, built)

	config := process.Config{
		StateDir:    filepath.Join(t.TempDir(), "state"),
		MemoryBytes: 3 << 30, Processes: 512, WorkBytes: 1 << 30,
		Egress: process.EgressConfig{Resolver: world, RootsPEM: world.RootPEM(), Connect: world.Connect},
	}
	if os.Geteuid() == 0 {
		config.Users = process.Users{First: 1_800_000_000 + uint32(os.Getpid()%10_000)*10, Count: 10}
	}
	engine, _, err := process.NewEngine(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	b.engine = engine
	return b
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// start makes a sandbox under the one rule, with the programs in it.
func (b *bench) start(t *testing.T, name string, client Client, rule sandbox.EgressRule) box {
	t.Helper()
	started, err := b.engine.Start(t.Context(), engine.StartRequest{
		Name: name + "-" + hostWord.Replace(strings.ToLower(client.Name)), WorkDir: "/app",
		Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{"world": rule}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.engine.Delete(context.Background(), started.Guest.ID()); err != nil {
			t.Error(err)
		}
	})
	runs, ok := started.Guest.(engine.Execer)
	if !ok {
		t.Fatal("it runs no programs")
	}
	at := box{runs}
	files := maps.Clone(b.programs)
	if client.Brings != "" {
		newer := os.Getenv(newNode)
		if newer == "" {
			missing(t, "a newer "+client.Name+"; "+newNode+" names one, and fetch-node beside this test fetches one")
		}
		files[client.Brings] = read(t, newer)
	}
	for name, content := range files {
		ref := engine.FileRef{Root: "/", Path: "/app/" + name, Access: b.engine.Access()[0]}
		if err := started.Guest.Write(t.Context(), ref, bytes.NewReader(content), int64(len(content))); err != nil {
			t.Fatal(err)
		}
	}
	at.must(t, "chmod +x *")
	return at
}

// hostWord makes a client's name part of a sandbox's.
var hostWord = strings.NewReplacer(" ", "-", "/", "-")

// box is one sandbox.
type box struct{ runs engine.Execer }

// sh runs a command with further variables, and answers what it printed.
func (b box) sh(t *testing.T, command string, env ...string) (printed string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out bytes.Buffer
	code, err := b.runs.Exec(ctx, engine.ExecRequest{
		Args: []string{"/bin/sh", "-c", command}, Dir: "/app", Env: env, Stdout: &out, Stderr: &out,
	})
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out.String())
	}
	return out.String(), code
}

func (b box) must(t *testing.T, command string) string {
	t.Helper()
	printed, code := b.sh(t, command)
	if code != 0 {
		t.Fatalf("%s: exit code %d\n%s", command, code, printed)
	}
	return printed
}

// private is what a person sets so that clients trust a private authority whose
// TLS is passed through. Where it is opened nothing has to be set.
func (b box) private(t *testing.T) []string {
	t.Helper()
	b.must(t, "if command -v keytool >/dev/null; then keytool -importcert -noprompt -alias world -file roots.pem -keystore roots.p12 -storetype PKCS12 -storepass worldly; fi")
	env := []string{"PRIVATE_JAVA= -Djavax.net.ssl.trustStore=/app/roots.p12 -Djavax.net.ssl.trustStorePassword=worldly"}
	for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "npm_config_cafile"} {
		env = append(env, name+"=/app/roots.pem")
	}
	return env
}

// refusal is how a client shows that it was refused: by the number, or by the text
// beside it.
var refusal = regexp.MustCompile(`403|egress\.denied`)

// outcome is what was seen of one client under one rule.
type outcome struct{ reached, refused bool }

func TestEachClientReachesWhatIsRuledAndSeesWhatIsNot(t *testing.T) { //nolint:tparallel // what follows the clients waits for them
	t.Parallel()
	b := newBench(t)
	var mu sync.Mutex
	seen := map[string][2]outcome{}
	t.Run("clients", func(t *testing.T) {
		for _, client := range All() {
			t.Run(client.Name, func(t *testing.T) {
				t.Parallel()
				for _, program := range client.Needs {
					if _, err := exec.LookPath(program); err != nil {
						missing(t, program)
					}
				}
				both := [2]outcome{b.underHostRule(t, client), b.underMethodRule(t, client)}
				mu.Lock()
				defer mu.Unlock()
				seen[client.Name] = both
			})
		}
	})
	if t.Failed() || len(seen) < len(All()) {
		return
	}
	if *update {
		if err := os.WriteFile(table, []byte(page(seen)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(read(t, table)) != page(seen) {
		t.Errorf("%s is not current: go test ./internal/conformance/clients -update writes it", table)
	}
}

// underHostRule passes TLS through: the client checks the server's certificate.
func (b *bench) underHostRule(t *testing.T, client Client) (o outcome) {
	t.Helper()
	at := b.start(t, "by-host", client, sandbox.EgressRule{Host: Host, Ports: []string{"443"}, Methods: []string{"*"}, Paths: []string{"*"}})
	t.Log(strings.TrimSpace(at.must(t, client.Version)))
	private := at.private(t)
	tell := `JAVA_TOOL_OPTIONS="$JAVA_TOOL_OPTIONS$PRIVATE_JAVA"; export JAVA_TOOL_OPTIONS; `

	printed, code := at.sh(t, tell+client.Fetch, append(private, "BASE=https://"+Host)...)
	o.reached = code == 0 && strings.Contains(printed, client.Fetched)
	if !o.reached {
		t.Errorf("what the rule names: exit code %d\n%s", code, printed)
	}
	before := b.world.Asked(Neighbour, http.MethodGet, http.MethodHead)
	printed, code = at.sh(t, tell+client.Fetch, append(private, "BASE=https://"+Neighbour)...)
	o.refused = code != 0 && refusal.MatchString(printed) && b.world.Asked(Neighbour, http.MethodGet, http.MethodHead) == before
	if !o.refused {
		t.Errorf("its neighbour: exit code %d\n%s", code, printed)
	}
	return o
}

// underMethodRule opens TLS: the client trusts the sandbox's authority by the
// variables that the sandbox sets, and by nothing else.
func (b *bench) underMethodRule(t *testing.T, client Client) (o outcome) {
	t.Helper()
	at := b.start(t, "by-method", client, sandbox.EgressRule{Host: Host, Ports: []string{"443"}, Methods: []string{"GET", "HEAD"}, Paths: []string{"*"}})
	base := "BASE=https://" + Host
	printed, code := at.sh(t, client.Fetch, base)
	o.reached = code == 0 && strings.Contains(printed, client.Fetched)
	if !o.reached {
		t.Errorf("what the rule names: exit code %d\n%s", code, printed)
	}
	before := b.world.Asked(Host, http.MethodPost, http.MethodPut)
	printed, code = at.sh(t, client.Change, base)
	o.refused = code != 0 && refusal.MatchString(printed) && b.world.Asked(Host, http.MethodPost, http.MethodPut) == before
	if !o.refused {
		t.Errorf("another method: exit code %d\n%s", code, printed)
	}
	return o
}

// page is the table for people.
func page(seen map[string][2]outcome) string {
	var p strings.Builder
	p.WriteString(pageHead)
	p.WriteString("| client | rule for a host: reached | its neighbour refused | rule for methods: reached | another method refused | finds the proxy by | and the authority by |\n")
	p.WriteString("|---|---|---|---|---|---|---|\n")
	yes := map[bool]string{true: "yes", false: "**no**"}
	for _, c := range All() {
		host, method := seen[c.Name][0], seen[c.Name][1]
		fmt.Fprintf(&p, "| %s | %s | %s | %s | %s | %s | %s |\n", c.Name,
			yes[host.reached], yes[host.refused], yes[method.reached], yes[method.refused], c.Proxy, c.Authority)
	}
	p.WriteString("\n")
	for _, c := range All() {
		if c.Remark != "" {
			fmt.Fprintf(&p, "* %s: %s\n", c.Name, c.Remark)
		}
	}
	return p.String()
}

const pageHead = `# Clients and egress rules

Written by a test, which runs each client in a sandbox of the process backend
against servers of its own, twice. First one rule names a host alone: TLS is passed
through, and the client checks the server's certificate. Then one rule names the
methods GET and HEAD for the host: TLS is opened with the sandbox's authority.
Refused means that the client failed, that its output shows the 403 or the code
beside it, and that the server heard nothing.

Nothing has to be configured: a sandbox sets the variables. A host with a
certificate of a private authority has to be trusted by the client where TLS is
passed through, as anywhere else.

`
