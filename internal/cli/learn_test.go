package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// logged writes events into a file, a minute apart.
func logged(t *testing.T, entries ...eventlog.Entry) string {
	t.Helper()
	return write(t, "events.jsonl", logOf(t, entries...))
}

func logOf(t *testing.T, entries ...eventlog.Entry) []byte {
	t.Helper()
	var log bytes.Buffer
	w := eventlog.NewWriter(&log, eventlog.Options{})
	for i, e := range entries {
		e.Time = time.Date(2026, 11, 30, 12, i, 0, 0, time.UTC)
		if e.Count == 0 {
			e.Count = 1
		}
		if e.Layer == "" {
			e.Layer = egress.LayerConnection
		}
		w.Write(e)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return log.Bytes()
}

func deniedTo(program, host string, port uint16) eventlog.Entry {
	return eventlog.Entry{Program: program, Event: egress.Event{Code: sandbox.CodeEgressDenied, Found: "no rule admits it", Host: host, Port: port}}
}

func inside(e eventlog.Entry, method, path string) eventlog.Entry {
	e.Layer, e.Method, e.Path = egress.LayerOpened, method, path
	return e
}

func through(program, host string, port uint16) eventlog.Entry {
	return eventlog.Entry{Program: program, Event: egress.Event{Allowed: true, Rule: host, Host: host, Port: port}}
}

func of(workload string, e eventlog.Entry) eventlog.Entry {
	e.Sandbox.Workload = workload
	return e
}

// aDay is what an ordinary program and a hostile one left behind.
func aDay() []eventlog.Entry {
	entries := []eventlog.Entry{
		through("pip", "packages.example.org", 443),
		deniedTo("pip", "files.example.net", 443), deniedTo("pip", "files.example.net", 443),
		inside(deniedTo("curl", "api.example.com", 443), "POST", "/v1/items"),
		inside(deniedTo("curl", "api.example.com", 443), "PUT", "/v1/items"),
		inside(deniedTo("curl", "api.example.com", 443), "PUT", "/v1/items/7"),
		deniedTo("", "10.0.0.7", 8443),
		deniedTo("sh", "packages.examp1e.org", 443),
		deniedTo("sh", "xn--bcher-kva.example.net", 443),
		deniedTo("sh", strings.Repeat("a", 40)+".evil.example.net", 443),
		deniedTo("sh", "metadata.google.internal", 80), deniedTo("sh", "db", 5432), deniedTo("sh", "localhost", 443),
		deniedTo("sh", "169.254.169.254", 80), deniedTo("sh", "[::ffff:169.254.169.254]", 80), deniedTo("sh", "2852039166", 80),
		deniedTo("sh", "evil.example\n\u202e::error::x", 443), deniedTo("sh", "*.example.com", 443),
		deniedTo("sh", "db.internal.example.com", 443),
		inside(deniedTo("sh", "api.example.com", 443), "GET", "/../../admin"), inside(deniedTo("sh", "api.example.com", 443), "get", "/v1"),
	}
	unresolved := deniedTo("pip", "gone.example.net", 443)
	unresolved.Code = sandbox.CodeEgressUnresolved
	flood := deniedTo("", "", 0)
	flood.Count, flood.Summary = 1200, true
	return append(entries, unresolved, flood)
}

// lostDecisions is what stands in a log for decisions that are not in it.
func lostDecisions(n int) eventlog.Entry {
	e := deniedTo("", "", 0)
	e.Code, e.Layer, e.Count, e.Summary, e.Lost = "", egress.LayerConnection, n, true, true
	return e
}

// learning is a manifest whose workload has rules that are used, unused and missing.
func learning() manifest.Manifest {
	return with(fitting(), "report", func(s *sandbox.Spec) {
		s.Egress.Hosts = []string{"packages.example.org", "a.files.example.org"}
	})
}

func TestLearnProposesExactlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, learning())
	events := logged(t, aDay()...)
	within := logged(t, through("pip", "packages.example.org", 443))
	for name, row := range map[string]struct {
		args []string
		code int
	}{
		"learn-events":  {[]string{events}, cli.ExitAllowed},
		"learn-refused": {[]string{events, "--manifest", path, "--workload", "report"}, cli.ExitRefused},
		"learn-within":  {[]string{within, "--manifest", path}, cli.ExitAllowed},
		"learn-widens": {[]string{
			logged(t, through("pip", "packages.example.org", 443), deniedTo("pip", "b.files.example.org", 443)), "--manifest", path,
		}, cli.ExitWidened},
		"learn-lost":    {[]string{logged(t, deniedTo("pip", "files.example.net", 443), lostDecisions(1200))}, cli.ExitAllowed},
		"learn-nothing": {[]string{write(t, "empty.jsonl", nil)}, cli.ExitAllowed},
		"learn-patterns": {[]string{logged(t,
			inside(deniedTo("", "api.example.com", 443), "GET", "/v1/items/1"), inside(deniedTo("", "api.example.com", 443), "GET", "/v1/items/2"),
			inside(deniedTo("", "api.example.com", 443), "GET", "/v1/items/3"),
			deniedTo("", "a.cdn.example.net", 443), deniedTo("", "b.cdn.example.net", 443), deniedTo("", "c.cdn.example.net", 443),
			deniedTo("", "a.co.uk", 443), deniedTo("", "b.co.uk", 443), deniedTo("", "c.co.uk", 443),
		)}, cli.ExitAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, append([]string{"learn"}, row.args...)...)
			golden.Check(t, *update, name, got.stdout+"---\n"+got.stderr)
			if got.code != row.code {
				t.Errorf("exit code %d, want %d", got.code, row.code)
			}
			var proposal struct {
				HCL string `json:"hcl"`
			}
			asJSON := run(t, append([]string{"learn", "--format", "json"}, row.args...)...)
			if err := json.Unmarshal([]byte(asJSON.stdout), &proposal); err != nil || asJSON.code != row.code || asJSON.stderr != "" {
				t.Errorf("exit code %d, %v: %s", asJSON.code, err, asJSON.both())
			}
			for _, hostile := range []string{"\u202e", "\n::error", "bücher\n"} {
				if strings.Contains(got.both(), hostile) || strings.Contains(asJSON.both(), hostile) {
					t.Errorf("%q got through", hostile)
				}
			}
		})
	}
}

func TestLearnTakesTheEventsOfItsWorkload(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, learning())
	events := logged(t, of("report", deniedTo("", "a.files.example.org", 443)), of("other", deniedTo("", "b.files.example.org", 443)))
	got := run(t, "learn", events, "--manifest", path)
	if !strings.Contains(got.stdout, `"a.files.example.org"`) || strings.Contains(got.stdout, "b.files") ||
		!strings.Contains(got.stderr, "1 event of other workloads") || got.code != cli.ExitAllowed {
		t.Errorf("%d %s", got.code, got.both())
	}
	if got := run(t, "learn", events); !strings.Contains(got.stdout, "b.files") {
		t.Errorf("%s", got.both())
	}
}

func TestLearnReadsSeveralLogsAndOneThatWasCutOff(t *testing.T) {
	t.Parallel()
	whole := logOf(t, deniedTo("", "a.example.net", 443), deniedTo("", "b.example.net", 443))
	cut := write(t, "cut.jsonl", whole[:len(whole)-20])
	got := invocation{stdin: string(logOf(t, deniedTo("", "c.example.net", 443)))}.run(t, "learn", cut, "-")
	if got.code != cli.ExitAllowed || !strings.Contains(got.stdout, "a.example.net") || strings.Contains(got.stdout, "b.example.net") ||
		!strings.Contains(got.stdout, "c.example.net") || !strings.Contains(got.stderr, "in the middle of a line") {
		t.Errorf("%d %s", got.code, got.both())
	}
}

func TestLearnTakesNoHalfQuestionAndNoOtherFile(t *testing.T) {
	t.Parallel()
	path, digest := encode(t, learning())
	two, _ := encode(t, asking())
	events := logged(t, deniedTo("", "a.example.net", 443))
	other := bytes.Replace(logOf(t, deniedTo("", "a.example.net", 443)), []byte("sandbox/v1"), []byte("sandbox/v9"), 1)
	accepted := []string{"--run", "--manifest", path, "--accept", string(digest), "--workload", "report"}
	for says, args := range map[string][]string{
		"give EVENTS":                     {},
		"no such":                         {events + "x"},
		"is a directory":                  {t.TempDir()},
		"line 1":                          {path},
		"document.version at api_version": {write(t, "v9.jsonl", other)},
		"only one of EVENTS":              {"-", "-"},
		"and --manifest can be":           {"-", "--manifest", "-"},
		"give --manifest or --dir":        {events, "--manifest", path, "--dir", "."},
		"--dir takes --workload":          {events, "--dir", "."},
		"give --workload":                 {events, "--manifest", two},
		`no workload "repotr"`:            {events, "--manifest", path, "--workload", "repotr"},
		"--run takes --manifest":          {"--run", "--", "a.sh"},
		"are for --run":                   {events, "--events", "x"},
		"reads the manifest twice":        {"--run", "--manifest", "-", "--accept", string(digest), "--workload", "report", "--", "true"},
		"not one of hcl, json":            {events, "--format", "text"},
		"longer than nothing":             append(accepted, "--timeout", "0s", "--", "true"),
	} {
		got := run(t, append([]string{"learn"}, args...)...)
		if got.code != cli.ExitBadInput || !strings.Contains(got.stderr, says) || got.stdout != "" {
			t.Errorf("%q: exit code %d, not %q: %s", args, got.code, says, got.both())
		}
	}
}

func TestLearnStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := (invocation{ctx: ctx}).run(t, "learn", logged(t, deniedTo("", "a.example.net", 443))); got.code != cli.ExitInterrupted {
		t.Errorf("%d %s", got.code, got.both())
	}
}

func TestWhyExplainsAnEvent(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, asking())
	sni := deniedTo("pip", "packages.example.org", 443)
	sni.Code, sni.Found = sandbox.CodeEgressSNIMismatch, `the server name "evil.example"`
	nearest := inside(of("api", deniedTo("curl", "api.example.com", 443)), "POST", "/v1/items")
	nearest.Rule, nearest.Count = "items", 3
	for name, row := range map[string]struct {
		entry eventlog.Entry
		code  int
	}{
		"why-event":          {nearest, cli.ExitRefused},
		"why-event-stale":    {of("report", deniedTo("pip", "packages.example.org", 443)), cli.ExitAllowed},
		"why-event-not-rule": {of("report", sni), cli.ExitAllowed},
		"why-event-allowed":  {of("shut", through("pip", "packages.example.org", 443)), cli.ExitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := string(logOf(t, row.entry))
			got := run(t, "why", "--manifest", path, "--event", logged(t, row.entry))
			golden.Check(t, *update, name, got.both())
			for how, again := range map[string]result{
				"text": run(t, "why", "--manifest", path, "--event", line), "-": invocation{stdin: line}.run(t, "why", "--manifest", path, "--event", "-"),
			} {
				if again != got {
					t.Errorf("%s: %s", how, again.both())
				}
			}
			if got.code != row.code {
				t.Errorf("exit code %d, want %d", got.code, row.code)
			}
		})
	}
}

// A guest chooses how it asks, and gets nothing wider offered by it.
func TestWhyOffersNoEditForAnEventThatNoRuleCanName(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, asking())
	for request, offered := range map[[2]string]bool{{"GET", "/v9/*"}: false, {"*", "/v9"}: false, {"GET", "/a//b"}: false, {"GET", "/v9"}: true} {
		event := logged(t, of("api", inside(deniedTo("curl", "api.example.com", 443), request[0], request[1])))
		got := run(t, "why", "--manifest", path, "--event", event)
		if got.code != cli.ExitRefused || strings.Contains(got.stdout, "to allow it") != offered || strings.Contains(got.stdout, "no rule can name") == offered {
			t.Errorf("%q: %d %s", request, got.code, got.both())
		}
	}
}

func TestWhyTakesOneEventThatNamesARequest(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, asking())
	one := deniedTo("", "a.example.net", 443)
	sum := deniedTo("", "", 0)
	sum.Summary, sum.Count = true, 7
	for says, args := range map[string][]string{
		"more than one line":   {"--event", logged(t, one, one)},
		"there is no event":    {"--event", write(t, "e", nil)},
		"a tunnel has ended":   {"--event", `{"api_version":"sandbox/v1","document":"egress_event","time":"2026-11-30T12:00:00Z","allowed":true,"layer":"connection","host":"a.example","port":443,"count":0,"end":{"sent":1,"received":3,"duration_ns":5}}`},
		"stands for 7":         {"--event", logged(t, sum)},
		"3 decisions were not": {"--event", logged(t, lostDecisions(3))},
		"names no destination": {"--event", logged(t, deniedTo("", "a:b:c", 0))},
		"host_invalid":         {"--event", logged(t, deniedTo("", "a b", 443))},
		"as it was sent":       {"--event", logged(t, inside(one, "GET", sandbox.Echo("/"+strings.Repeat("a", 2000))))},
		"leave out --host":     {"--event", logged(t, one), "--port", "443"},
		"document.version":     {"--event", `{"host":"a.example"}`},
		"document.syntax":      {"--event", `{"host":`},
		"no such":              {"--event", "nothing-here"},
	} {
		got := run(t, append([]string{"why", "--manifest", path}, args...)...)
		if got.code != cli.ExitBadInput || !strings.Contains(got.stderr, says) || got.stdout != "" {
			t.Errorf("%q: exit code %d, not %q: %s", args, got.code, says, got.both())
		}
	}
	if got := run(t, "why", "--manifest", "-", "--event", "-"); got.code != cli.ExitBadInput {
		t.Errorf("%d %s", got.code, got.both())
	}
}

// watched is the memory backend with a proxy that has something to tell.
func watched(t *testing.T) (path, digest, program string) {
	t.Helper()
	m := with(runnable(), "report", func(s *sandbox.Spec) { s.Outputs = nil })
	path, d := encode(t, m)
	return path, string(d), write(t, "program.txt", []byte("out hello"))
}

func TestRunWritesWhatTheProxyDecides(t *testing.T) {
	t.Parallel()
	path, digest, program := watched(t)
	events := filepath.Join(t.TempDir(), "events.jsonl")
	args := []string{"run", "--manifest", path, "--accept", digest, "--workload", "report", "--events", events, "--", program}
	got := run(t, args...)
	if got.code != cli.ExitAllowed {
		t.Fatalf("%d %s", got.code, got.both())
	}
	b, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	e, err := eventlog.Decode(bytes.TrimSpace(b))
	if err != nil || e.Program != "program.txt" || e.Sandbox.Workload != "report" || e.Sandbox.Backend != "memory" || e.Host != "asked.example.net" {
		t.Errorf("%v %+v", err, e)
	}
	if info, err := os.Stat(events); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if got := run(t, args...); got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "nothing is overwritten") {
		t.Errorf("%d %s", got.code, got.both())
	}
	if again, err := os.ReadFile(events); err != nil || !bytes.Equal(again, b) {
		t.Errorf("%s %v", again, err)
	}
}

func TestEventsAreKeptOnlyWhereSomethingRan(t *testing.T) {
	t.Parallel()
	path, _, program := watched(t)
	events := filepath.Join(t.TempDir(), "events.jsonl")
	wrong := "sha256:" + strings.Repeat("0", 64)
	got := run(t, "run", "--manifest", path, "--accept", wrong, "--workload", "report", "--events", events, "--", program)
	if _, err := os.Stat(events); got.code == cli.ExitAllowed || !os.IsNotExist(err) {
		t.Errorf("%d %v %s", got.code, err, got.both())
	}
}

// What a run is learnt from is a run like any other: what is refused there is refused
// here. This backend has no allowlist to refuse by.
func TestNothingIsLearntFromARunThatIsRefused(t *testing.T) {
	t.Parallel()
	path, digest, program := watched(t)
	for accept, code := range map[string]string{digest: "egress.not_enforced", "sha256:" + strings.Repeat("0", 64): "document.digest_mismatch"} {
		got := run(t, "learn", "--run", "--manifest", path, "--accept", accept, "--workload", "report", "--", program)
		if got.code == cli.ExitAllowed || got.stdout != "" || !strings.Contains(got.stderr, code) {
			t.Errorf("%d, not %s: %s", got.code, code, got.both())
		}
	}
}

func TestLearnIsForAWorkloadOfAConfiguration(t *testing.T) {
	t.Parallel()
	plugin := provider(t)
	root := directory(t, map[string]string{
		"root/main.tf": versions + agents + rest + workload(`egress_mode = "allowlist"
  egress_hosts = ["packages.example.org"]`),
	})
	events := logged(t, through("pip", "packages.example.org", 443), deniedTo("pip", "files.example.net", 443))
	environ := append(os.Environ(), "TF_CLI_CONFIG_FILE=/dev/null")
	learnt := func(args ...string) result {
		return invocation{environ: environ}.run(t, append([]string{"learn", events, "--dir", root, "--provider", plugin}, args...)...)
	}
	for _, address := range []string{"sandbox_workload.report", "report"} {
		got := learnt("--workload", address)
		if got.code != cli.ExitRefused || !strings.Contains(got.stdout, `"files.example.net"`) ||
			!strings.Contains(got.stderr, `to admit it, in policy "agents"`) || !strings.Contains(got.stderr, "then    it is admitted") {
			t.Errorf("%s: exit code %d %s", address, got.code, got.both())
		}
	}
	if got := learnt("--workload", "sandbox_workload.other"); got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "sandbox_workload.report") {
		t.Errorf("exit code %d %s", got.code, got.both())
	}
	refused := directory(t, map[string]string{"root/main.tf": versions + agents + rest + workload(`egress_mode = "allowlist"
  egress_hosts = ["files.example.net"]`)})
	got := invocation{environ: environ}.run(t, "learn", events, "--dir", refused, "--provider", plugin, "--workload", "report")
	if got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "sandboxctl check says") {
		t.Errorf("exit code %d %s", got.code, got.both())
	}
}

// A configuration brings its facts, and learn judges by them as check does.
func TestLearnJudgesAConfigurationByTheFactsItGives(t *testing.T) {
	t.Parallel()
	plugin := provider(t)
	d, err := facts.Lookup("acas")
	if err != nil {
		t.Fatal(err)
	}
	d.IsolationEvidence.Kind = sandbox.EvidenceProbed
	d.Guarantees = map[sandbox.Guarantee]sandbox.Evidence{}
	for _, g := range sandbox.Guarantees() {
		d.Guarantees[g] = sandbox.Evidence{Kind: sandbox.EvidenceProbed, Reference: "a test"}
	}
	b, err := manifest.EncodeDeclarations(d)
	if err != nil {
		t.Fatal(err)
	}
	root := directory(t, map[string]string{
		"root/facts.json": string(b),
		"root/main.tf": versions + strings.Replace(agents, `"documented"`, `"probed"`, 1) + rest + workload(`backend_facts = file("facts.json")
  egress_mode = "allowlist"
  egress_hosts = ["packages.example.org"]`),
	})
	environ := append(os.Environ(), "TF_CLI_CONFIG_FILE=/dev/null")
	events := logged(t, through("pip", "packages.example.org", 443))
	args := []string{"learn", events, "--dir", root, "--provider", plugin, "--workload", "report"}
	if got := (invocation{environ: environ}).run(t, args...); got.code != cli.ExitAllowed {
		t.Errorf("by its own facts: exit code %d\n%s", got.code, got.both())
	}
	shipped, err := facts.Lookup("acas")
	if err != nil {
		t.Fatal(err)
	}
	if b, err = manifest.EncodeDeclarations(shipped); err != nil {
		t.Fatal(err)
	}
	if got := (invocation{environ: environ}).run(t, append(args, "--facts", write(t, "shipped.json", b))...); got.code != cli.ExitRefused {
		t.Errorf("by facts that were given: exit code %d\n%s", got.code, got.both())
	}
}
