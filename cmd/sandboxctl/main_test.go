package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// command runs sandboxctl with the backends of the binary.
func command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(t.Context(), cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Environ: os.Environ(),
		Version: buildVersion(), Backends: backends(), Guests: guests(),
	}, args)
	return out.String(), errs.String(), code
}

func primes(t *testing.T) (path string, digest manifest.Digest) {
	t.Helper()
	requires := sandbox.SetOf(sandbox.CapabilityRunCode, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut)
	b, err := manifest.Manifest{
		Policy: sandbox.Policy{Name: "agents", MinimumIsolation: sandbox.IsolationRuntime, MissingGuarantees: sandbox.MissingGuaranteesRefuse},
		Workloads: map[string]sandbox.Spec{"primes": {
			Kind: "codeact", Backend: "wasm", Requires: &requires,
			Outputs: map[string]sandbox.Output{"table": {Path: "table.csv", MediaType: "text/csv"}},
		}},
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "manifest.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, manifest.DigestOf(b)
}

func TestARealProgramRunsFromAnAcceptedManifest(t *testing.T) {
	t.Parallel()
	path, digest := primes(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "program.js")
	source := `print("sum", args.reduce((a, b) => a + Number(b), 0), readFile("in/data.csv"));
console.error("\u001b[31m::error::x");
writeFile("table.csv", "a,b\n");`
	data := filepath.Join(dir, "data.csv")
	for name, content := range map[string]string{program: source, data: "1,2"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "outputs")
	stdout, stderr, code := command(t, "run", "--manifest", path, "--accept", string(digest), "--workload", "primes",
		"--out", out, "--flat", "--file", data+"=in/data.csv", "--", program, "40", "2")
	if code != cli.ExitAllowed || stdout != "│ sum 42 1,2\n" || !strings.Contains(stderr, "┆ \\x1b[31m::error::x\n") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if b, err := os.ReadFile(filepath.Join(out, "table.csv")); err != nil || string(b) != "a,b\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// needBubblewrap skips where the process backend cannot run.
func needBubblewrap(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil || runtime.GOOS != "linux" {
		if os.Getenv("CI") != "" && runtime.GOOS == "linux" {
			t.Fatal("this machine lacks bubblewrap")
		}
		t.Skip("this machine lacks bubblewrap")
	}
}

// askTwo asks the sandbox's proxy for a tunnel and for a request in the clear.
const askTwo = `ask() { exec 3<>/dev/tcp/127.0.0.1/3128 && printf "$1" >&3 && cat <&3; exec 3>&-; }
ask "CONNECT files.example.net:443 HTTP/1.1\r\nHost: files.example.net:443\r\n\r\n"
ask "GET http://api.example.com/v1/items?key=secret HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
exit 3`

func TestWhatAProgramIsRefusedIsLearntWhileNothingIsPermitted(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	requires := sandbox.SetOf(sandbox.CapabilityExec)
	b, err := manifest.Manifest{
		Policy: sandbox.Policy{
			Name: "agents", MinimumIsolation: sandbox.IsolationOSProcess,
			Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"*.example.net"}},
		},
		Workloads: map[string]sandbox.Spec{"closed": {Kind: "shell", Backend: "process", Requires: &requires}},
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, events := filepath.Join(dir, "manifest.json"), filepath.Join(dir, "events.jsonl")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := command(t, "learn", "--run", "--manifest", path, "--accept", string(manifest.DigestOf(b)), "--workload", "closed",
		"--events", events, "--", "bash", "-c", askTwo)
	for _, want := range []string{
		"# asked for by bash\n", "\"files.example.net\",\n",
		`api = { host = "api.example.com", ports = [80], methods = ["GET"], paths = ["/v1/items"] }`,
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q", want)
		}
	}
	if code != cli.ExitRefused || !strings.Contains(stderr, "egress.not_within_policy") || !strings.Contains(stderr, "exit code 3 after") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	again, _, _ := command(t, "learn", events, "--manifest", path)
	if again != stdout {
		t.Errorf("from the log:\n%s\nfrom the run:\n%s", again, stdout)
	}
	log, err := os.ReadFile(events)
	if err != nil || strings.Contains(string(log), "secret") {
		t.Errorf("%v: a query is in the log: %s", err, log)
	}
	line, _, _ := strings.Cut(string(log), "\n")
	if stdout, stderr, code := command(t, "why", "--manifest", path, "--event", line); code != cli.ExitRefused ||
		!strings.Contains(stdout, "egress.denied") || !strings.Contains(stdout, `egress_hosts = ["files.example.net"]`) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// A run that learns names what leads nowhere where the team closed its egress, and
// nothing where the platform did.
func TestWhatThePlatformHasClosedStaysClosedWhileLearning(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	requires := sandbox.SetOf(sandbox.CapabilityExec)
	closed := sandbox.Policy{Name: "agents", MinimumIsolation: sandbox.IsolationOSProcess, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}}
	for name, row := range map[string]struct {
		platform *sandbox.Policy
		says     string
	}{
		"team":     {nil, `egress_mode = "allowlist"`},
		"platform": {&sandbox.Policy{Egress: closed.Egress}, "egress.mode_denied"},
	} {
		b, err := manifest.Manifest{
			Policy: closed, HostPolicy: row.platform,
			Workloads: map[string]sandbox.Spec{"closed": {Kind: "shell", Backend: "process", Requires: &requires}},
		}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "manifest.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := command(t, "learn", "--run", "--manifest", path, "--accept", string(manifest.DigestOf(b)),
			"--workload", "closed", "--", "bash", "-c", askTwo)
		if code != cli.ExitRefused || !strings.Contains(stdout+stderr, row.says) || strings.Contains(stdout, "files.example.net") != (row.platform == nil) {
			t.Errorf("%s: exit code %d\n%s%s", name, code, stdout, stderr)
		}
	}
}

// A program that lacks a host often only says that something went wrong.
func TestARunSaysWhatItsProxyRefused(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	requires := sandbox.SetOf(sandbox.CapabilityExec)
	rules := sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"packages.example.org"}}
	b, err := manifest.Manifest{
		Policy:    sandbox.Policy{MinimumIsolation: sandbox.IsolationOSProcess, Egress: rules},
		Workloads: map[string]sandbox.Spec{"open": {Kind: "shell", Backend: "process", Requires: &requires, Egress: rules}},
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "manifest.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "--manifest", path, "--accept", string(manifest.DigestOf(b)), "--workload", "open"}
	program := []string{"--", "bash", "-c", askTwo}
	_, stderr, code := command(t, append(args, program...)...)
	for _, want := range []string{
		"refused files.example.net:443, once, egress.denied: add to egress_hosts: \"files.example.net\"\n",
		"refused api.example.com:80 (GET /v1/items), once, egress.denied: add to egress_rules: api = { host = \"api.example.com\", ports = [80], methods = [\"GET\"], paths = [\"/v1/items\"] }\n",
		"sandboxctl learn FILE\n",
	} {
		if code != cli.ExitProgram || !strings.Contains(stderr, want) || strings.Contains(stderr, "sandboxctl: exit code") {
			t.Errorf("exit code %d, no %q\n%s", code, want, stderr)
		}
	}
	stdout, _, code := command(t, append(append(args, "--format", "json"), program...)...)
	var ran struct {
		ExitCode int `json:"exit_code"`
		Refused  []struct {
			Request string `json:"request"`
			Change  string `json:"change"`
		} `json:"refused"`
	}
	if err := json.Unmarshal([]byte(stdout), &ran); err != nil || code != cli.ExitProgram || ran.ExitCode != 3 || len(ran.Refused) != 2 || ran.Refused[0].Change == "" {
		t.Errorf("exit code %d, %v: %s", code, err, stdout)
	}
}

func TestACommandOfThisMachineRunsFromAnAcceptedManifest(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	requires := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut)
	b, err := manifest.Manifest{
		Policy: sandbox.Policy{MinimumIsolation: sandbox.IsolationOSProcess},
		Workloads: map[string]sandbox.Spec{"hello": {
			Kind: "shell", Backend: "process", Requires: &requires, Outputs: map[string]sandbox.Output{"answer": {Path: "answer.txt"}},
		}},
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, data := filepath.Join(dir, "manifest.json"), filepath.Join(dir, "data.csv")
	for name, content := range map[string][]byte{path: b, data: []byte("1,2")} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, code := command(t, "run", "--manifest", path, "--accept", string(manifest.DigestOf(b)), "--workload", "hello",
		"--out", dir, "--flat", "--file", data+"=data.csv", "--", "sh", "-c", "cat data.csv | tee answer.txt; echo $0", "a b")
	if code != cli.ExitAllowed || stdout != "│ 1,2a b\n" {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "answer.txt")); err != nil || string(b) != "1,2" {
		t.Errorf("%q, %v", b, err)
	}
}

// The internet is not there; who is refused and why is decided before it is asked.
func TestACommandReachesWhatItsManifestAdmitsAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bwrap", "curl"} {
		if _, err := exec.LookPath(program); err != nil || runtime.GOOS != "linux" {
			if os.Getenv("CI") != "" && runtime.GOOS == "linux" {
				t.Fatal("this machine lacks " + program)
			}
			t.Skip("this machine lacks " + program)
		}
	}
	requires := sandbox.SetOf(sandbox.CapabilityExec)
	workload := func(host string) sandbox.Spec {
		return sandbox.Spec{Kind: "shell", Backend: "process", Requires: &requires, Egress: sandbox.Egress{
			Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{"plain": {Host: host, Ports: []string{"80"}, Methods: []string{"*"}, Paths: []string{"*"}}},
		}}
	}
	b, err := manifest.Manifest{
		Policy: sandbox.Policy{MinimumIsolation: sandbox.IsolationOSProcess, Egress: sandbox.Egress{
			Mode:  sandbox.EgressAllowlist,
			Rules: map[string]sandbox.EgressRule{"bound": {Host: "*.example.test", Ports: []string{"80"}, Methods: []string{"*"}, Paths: []string{"*"}}},
		}},
		Workloads: map[string]sandbox.Spec{"within": workload("api.example.test"), "wider": workload("api.example.com")},
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "manifest.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(workload, url string) (string, string, int) {
		return command(t, "run", "--manifest", path, "--accept", string(manifest.DigestOf(b)), "--workload", workload, "--", "/usr/bin/curl", "-sS", url)
	}
	stdout, stderr, code := run("within", "http://other.example.test/")
	if code != cli.ExitAllowed || !strings.Contains(stdout, "egress.denied") || !strings.Contains(stdout, "egress_rules") {
		t.Errorf("another host: exit code %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code = run("within", "http://api.example.test/")
	if code != cli.ExitAllowed || strings.Contains(stdout, "egress.denied") || !strings.Contains(stdout, "egress.unresolved") {
		t.Errorf("the admitted one, which nobody has: exit code %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code = run("wider", "http://api.example.com/")
	if code != cli.ExitRefused || !strings.Contains(stdout+stderr, "egress.not_within_policy") {
		t.Errorf("a workload outside its policy: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// Facts that are shipped for a plan are no more than what the backend itself says.
func TestTheBinarysBackendsKeepWhatTheShippedFactsPromise(t *testing.T) {
	t.Parallel()
	for name, b := range backends() {
		shipped, err := facts.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		own := b.Declarations()
		if !own.Isolation.Meets(shipped.Isolation) || own.IsolationEvidence.Kind < shipped.IsolationEvidence.Kind {
			t.Errorf("%s: %s by %s is promised, %s by %s is given", name,
				shipped.Isolation, shipped.IsolationEvidence.Kind, own.Isolation, own.IsolationEvidence.Kind)
		}
		if missing := shipped.Capabilities.Minus(*own.Capabilities); !missing.Empty() {
			t.Errorf("%s: %s is promised and not given", name, missing)
		}
		if missing := shipped.EgressModes.Minus(own.EgressModes); !missing.Empty() {
			t.Errorf("%s: egress %s is promised and not given", name, missing)
		}
		for g, e := range shipped.Guarantees {
			if own.Guarantees[g].Kind < e.Kind {
				t.Errorf("%s: %s is promised by %s", name, g, e.Kind)
			}
		}
	}
}

func TestFactsOfAMachineAreProbedWhenTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bwrap"); err != nil || runtime.GOOS != "linux" {
		stdout, stderr, code := command(t, "facts", "--backend", "process")
		if code == cli.ExitAllowed || !strings.Contains(stdout+stderr, "backend.host_unfit") {
			t.Errorf("a machine without bubblewrap: exit code %d\n%s%s", code, stdout, stderr)
		}
		return
	}
	stdout, stderr, code := command(t, "facts", "--backend", "process", "--format", "json")
	d, err := manifest.ParseDeclarations([]byte(stdout))
	if code != cli.ExitAllowed || err != nil || d.IsolationEvidence.Kind != sandbox.EvidenceProbed || !strings.Contains(d.IsolationEvidence.Reference, "bubblewrap") {
		t.Errorf("exit code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	stdout, _, code = command(t, "facts")
	if code != cli.ExitAllowed || !strings.Contains(stdout, "sandboxctl facts --backend process") || strings.Contains(stdout, "probed at start: bubblewrap") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

func TestVersionNamesTheGuestsByDigest(t *testing.T) {
	t.Parallel()
	stdout, _, code := command(t, "version", "--json")
	if code != cli.ExitAllowed || !strings.Contains(stdout, guests()["javascript"]) || !slices.Equal([]string{"acas", "process", "wasm"}, keys(backends())) {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

func keys(m map[string]cli.Backend) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
