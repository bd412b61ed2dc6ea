package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// runnable is a manifest for the engine in memory.
func runnable() manifest.Manifest {
	requires := sandbox.SetOf(sandbox.CapabilityRunCode, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut)
	return manifest.Manifest{
		Policy: sandbox.Policy{Name: "agents", MinimumIsolation: sandbox.IsolationMicroVM},
		Workloads: map[string]sandbox.Spec{"report": {
			Kind: "codeact", Backend: "memory", Requires: &requires,
			Outputs: map[string]sandbox.Output{
				"made":  {Path: "made.txt", MediaType: "text/plain"},
				"extra": {Path: "extra/é.txt", Optional: true},
			},
		}},
	}
}

// attempt is one `sandboxctl run` of a script.
type attempt struct {
	manifest manifest.Manifest
	script   string
	accept   manifest.Digest
	args     []string
	engine   *sandboxtest.Engine
	ctx      context.Context //nolint:containedctx // a test's
	out      string
}

func (a attempt) run(t *testing.T) result {
	t.Helper()
	if a.manifest.Workloads == nil {
		a.manifest = runnable()
	}
	path, digest := encode(t, a.manifest)
	if a.accept == "" {
		a.accept = digest
	}
	if a.out == "" {
		a.out = filepath.Join(t.TempDir(), "outputs")
	}
	args := append([]string{"run", "--manifest", path, "--accept", string(a.accept), "--workload", "report", "--out", a.out}, a.args...)
	args = append(args, "--", write(t, "program", []byte(a.script)))
	return invocation{engine: a.engine, ctx: a.ctx}.run(t, args...)
}

func TestAProgramRunsAndItsOutputsLand(t *testing.T) {
	t.Parallel()
	engine := sandboxtest.NewEngine(sandboxtest.Options{RunCode: sandboxtest.Script})
	out := filepath.Join(t.TempDir(), "outputs")
	in := write(t, "data.csv", []byte("a,b"))
	got := attempt{
		script: "out hello\nerr careful\nwrite made.txt 42\nwrite extra/é.txt more", engine: engine, out: out,
		args: []string{"--file", in + "=in/data.csv"},
	}.run(t)
	if got.code != cli.ExitAllowed || got.stdout != "│ hello\n" {
		t.Fatalf("exit code %d\n%s", got.code, got.both())
	}
	for _, want := range []string{"┆ careful\n", "exit code 0 after ", "landed  made.txt (2 bytes)  " + out, "landed  extra/é.txt (4 bytes)  "} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("no %q in\n%s", want, got.stderr)
		}
	}
	files, err := filepath.Glob(filepath.Join(out, "*", "*", "made.txt"))
	if err != nil || len(files) != 1 {
		t.Fatalf("landed in %q, %v", files, err)
	}
	if b, err := os.ReadFile(files[0]); err != nil || string(b) != "42" {
		t.Errorf("%q, %v", b, err)
	}
	if n := engine.Count(); n != 0 {
		t.Errorf("%d sandboxes left", n)
	}
}

// The workload decides: where it requires exec alone, what stands after -- is a
// command of the sandbox and no file of this machine.
func TestACommandRunsWhereTheWorkloadRequiresExecAlone(t *testing.T) {
	t.Parallel()
	commands := func(_ context.Context, _ *sandboxtest.View, req engine.ExecRequest) (int, error) {
		_, err := fmt.Fprintln(req.Stdout, strings.Join(req.Args, " "))
		return 0, err
	}
	only := func(c ...sandbox.Capability) manifest.Manifest {
		requires := sandbox.SetOf(c...)
		return with(runnable(), "report", func(s *sandbox.Spec) { s.Requires, s.Outputs = &requires, nil })
	}
	for name, row := range map[string]struct {
		manifest manifest.Manifest
		code     int
		says     string
	}{
		"exec alone": {only(sandbox.CapabilityExec), cli.ExitAllowed, "│ report.js --fast a b\n"},
		"with code":  {only(sandbox.CapabilityExec, sandbox.CapabilityRunCode), cli.ExitBadInput, "no such file"},
		"neither":    {only(), cli.ExitBadInput, "no such file"},
		"by default": {with(only(), "report", func(s *sandbox.Spec) { s.Requires = nil }), cli.ExitAllowed, "│ report.js --fast a b\n"},
		"and is denied": {
			with(changedPolicy(func(p *sandbox.Policy) { p.DeniedCapabilities = sandbox.SetOf(sandbox.CapabilityExec) }), "report",
				func(s *sandbox.Spec) { s.Requires, s.Outputs = nil, nil }),
			cli.ExitRefused, " capability.denied at requires\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sandboxtest.NewEngine(sandboxtest.Options{Exec: commands, RunCode: sandboxtest.Script})
			path, digest := encode(t, row.manifest)
			got := invocation{engine: e}.run(t, "run", "--manifest", path, "--accept", string(digest), "--workload", "report",
				"--", "report.js", "--fast", "a b")
			if got.code != row.code || !strings.Contains(got.both(), row.says) {
				t.Errorf("exit code %d, want %d and %q\n%s", got.code, row.code, row.says, got.both())
			}
			if n := e.Count(); n != 0 {
				t.Errorf("%d sandboxes left", n)
			}
		})
	}
}

// A misspelt workload is that, and not a program that is not there.
func TestAWorkloadIsLookedUpBeforeAProgramIsOpened(t *testing.T) {
	t.Parallel()
	path, digest := encode(t, runnable())
	other := manifest.DigestOf([]byte("another"))
	for name, row := range map[string]struct {
		workload string
		accept   manifest.Digest
		code     int
		says     string
	}{
		"misspelt":               {"helo", digest, cli.ExitBadInput, "required  one of \"report\"\n"},
		"well spelt":             {"report", digest, cli.ExitBadInput, `"nosuch": no such file`},
		"misspelt, not accepted": {"helo", other, cli.ExitRefused, " document.digest_mismatch at options.manifest\n"},
		"not accepted":           {"report", other, cli.ExitRefused, " document.digest_mismatch at options.manifest\n"},
	} {
		got := run(t, "run", "--manifest", path, "--accept", string(row.accept), "--workload", row.workload, "--", "nosuch")
		if got.code != row.code || !strings.Contains(got.stderr, row.says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", name, got.code, row.code, row.says, got.both())
		}
	}
}

func TestFlatOutputsAreNeverOverwritten(t *testing.T) {
	t.Parallel()
	a := attempt{script: "write made.txt 1", out: t.TempDir(), args: []string{"--flat"}}
	if got := a.run(t); got.code != cli.ExitAllowed {
		t.Fatalf("exit code %d\n%s", got.code, got.both())
	}
	a.script = "write made.txt 2"
	if got := a.run(t); got.code != cli.ExitProgram || !strings.Contains(got.stderr, " output.landing_exists") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	if b, err := os.ReadFile(filepath.Join(a.out, "made.txt")); err != nil || string(b) != "1" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestWhatAProgramWritesIsMarkedUnlessRaw(t *testing.T) {
	t.Parallel()
	script := "out \x1b[2J::error::x\nwrite made.txt 1"
	if got := (attempt{script: script}).run(t); got.stdout != "│ \\x1b[2J::error::x\n" {
		t.Errorf("%q", got.stdout)
	}
	if got := (attempt{script: script, args: []string{"--raw"}}).run(t); got.stdout != "\x1b[2J::error::x" {
		t.Errorf("%q", got.stdout)
	}
}

func TestARunAsJSONIsOneObject(t *testing.T) {
	t.Parallel()
	type object struct {
		Backend      string
		ExitCode     *int `json:"exit_code"`
		Stdout       string
		Stderr       string
		Landed       []struct{ Name, Handle string }
		StdoutBase64 []byte `json:"stdout_base64"`
	}
	for _, row := range []struct {
		name, script string
		code, exits  int
		landed       int
	}{
		{"a program that ends well", "out hello\nerr careful\nwrite made.txt 42", cli.ExitAllowed, 0, 1},
		{"a program that does not", "out hello\nerr careful\nexit 3", cli.ExitProgram, 3, 0},
	} {
		got := attempt{script: row.script, args: []string{"--format", "json"}}.run(t)
		var o object
		if err := json.Unmarshal([]byte(got.stdout), &o); err != nil {
			t.Fatalf("%s: %v in\n%s", row.name, err, got.both())
		}
		if got.code != row.code || o.ExitCode == nil || *o.ExitCode != row.exits || o.Stdout != "hello" || o.Stderr != "careful" || len(o.Landed) != row.landed {
			t.Errorf("%s: exit %d with %+v", row.name, got.code, o)
		}
	}
	// No program ended, so there is no exit code to take for one that went well.
	got := attempt{script: "loop", args: []string{"--format", "json", "--timeout", "10ms"}}.run(t)
	var stopped struct {
		ExitCode            *int `json:"exit_code"`
		Code, Found, Remedy string
	}
	if err := json.Unmarshal([]byte(got.stdout), &stopped); err != nil || got.code != cli.ExitProgram || stopped.ExitCode != nil ||
		stopped.Code != "guest.timeout" || stopped.Found == "" || stopped.Remedy == "" || !strings.Contains(got.stdout, `"exit_code": null`) {
		t.Errorf("a program that was stopped: exit %d, %v\n%s", got.code, err, got.both())
	}
	if got := (attempt{script: "out hello", args: []string{"--format", "json", "--raw"}}).run(t); got.code != cli.ExitBadInput || got.stdout != "" {
		t.Errorf("raw JSON: exit %d\n%s", got.code, got.both())
	}
}

func TestRunRefusesWhatThePlanWouldHave(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		attempt attempt
		code    int
		says    string
	}{
		"another digest": {attempt{accept: manifest.DigestOf([]byte("another"))}, cli.ExitRefused, " document.digest_mismatch at options.manifest\n"},
		"a digest that is none": {
			attempt{accept: "sha256:short"}, cli.ExitBadInput, "refused  --accept: ",
		},
		"a floor above the backend": {
			attempt{manifest: changedPolicy(func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationVM })},
			cli.ExitRefused, " isolation.below_floor at backend\n",
		},
		"a denied capability": {
			attempt{manifest: changedPolicy(func(p *sandbox.Policy) {
				p.DeniedCapabilities = sandbox.SetOf(sandbox.CapabilityRunCode)
			})}, cli.ExitRefused, " capability.denied at requires\n",
		},
		"a backend that this binary has not": {
			attempt{manifest: with(runnable(), "report", func(s *sandbox.Spec) { s.Backend = "acas" })},
			cli.ExitRefused, " router.no_backend at backend\n",
		},
		"another workload": {attempt{args: []string{"--workload", "other"}}, cli.ExitBadInput, " router.workload_unknown"},
		"another backend than the workload's": {
			attempt{args: []string{"--backend", "wasm"}}, cli.ExitRefused, "remedy    leave out --backend, or name the one that the workload names: --backend memory\n",
		},
		"another backend that is here": {
			attempt{
				manifest: with(runnable(), "report", func(s *sandbox.Spec) { s.Backend = "acas" }), args: []string{"--backend", "memory"},
			}, cli.ExitRefused, "remedy    leave out --backend, or name the one that the workload names: --backend acas\n",
		},
		"an upload for a workload that takes none": {
			attempt{
				manifest: with(runnable(), "report", func(s *sandbox.Spec) {
					requires := sandbox.SetOf(sandbox.CapabilityRunCode, sandbox.CapabilityFilesOut)
					s.Requires = &requires
				}), args: []string{"--file", "/dev/null=x"},
			}, cli.ExitRefused, "refused  --file /dev/null=x: ",
		},
		"a program that fails": {attempt{script: "err no\nexit 3"}, cli.ExitProgram, "exit code 3 after "},
		"a program that makes nothing": {
			attempt{script: "out hello"}, cli.ExitProgram, ` output.missing at outputs["made"]`,
		},
		"a program that floods": {attempt{script: "flood"}, cli.ExitProgram, " guest.output_limit"},
		"a program that loops":  {attempt{script: "loop", args: []string{"--timeout", "50ms"}}, cli.ExitProgram, "still running after 50ms"},
		"no time at all":        {attempt{args: []string{"--timeout", "0s"}}, cli.ExitBadInput, "--timeout 0s: "},
		"an upload out of the sandbox": {
			attempt{args: []string{"--file", "/dev/null=../x"}}, cli.ExitBadInput, "refused  --file /dev/null=../x: ",
		},
		"an upload that is no pair": {attempt{args: []string{"--file", "x"}}, cli.ExitBadInput, "SOURCE=PATH"},
		"an upload that is not there": {
			attempt{args: []string{"--file", "/nonexistent=x"}}, cli.ExitBadInput, "no such file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.attempt.engine = sandboxtest.NewEngine(sandboxtest.Options{RunCode: sandboxtest.Script})
			got := row.attempt.run(t)
			if got.code != row.code || !strings.Contains(got.stderr, row.says) {
				t.Errorf("exit code %d, want %d and %q\n%s", got.code, row.code, row.says, got.both())
			}
			if n := row.attempt.engine.Count(); n != 0 {
				t.Errorf("%d sandboxes left", n)
			}
		})
	}
}

func changedPolicy(change func(*sandbox.Policy)) manifest.Manifest {
	m := runnable()
	change(&m.Policy)
	return m
}

func TestASandboxOfACallGetsACallOfItsOwn(t *testing.T) {
	t.Parallel()
	m := with(runnable(), "report", func(s *sandbox.Spec) { s.IsolationScope = sandbox.ScopeCall })
	if got := (attempt{manifest: m, script: "write made.txt 1"}).run(t); got.code != cli.ExitAllowed {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
}

func TestAnInterruptDisposesTheSandbox(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	engine := sandboxtest.NewEngine(sandboxtest.Options{RunCode: sandboxtest.Script})
	engine.Intercept(func(r sandboxtest.Request) error {
		if r.Op == sandboxtest.OpRunCode {
			interrupt()
		}
		return nil
	})
	got := attempt{script: "loop", engine: engine, ctx: ctx}.run(t)
	if got.code != cli.ExitInterrupted || !strings.Contains(got.stderr, "interrupted") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	if n := engine.Count(); n != 0 {
		t.Errorf("%d sandboxes left", n)
	}
}

func TestARefusedRunReadsAsThePlanDoes(t *testing.T) {
	t.Parallel()
	m := changedPolicy(func(p *sandbox.Policy) {
		p.MinimumIsolation = sandbox.IsolationVM
		p.DeniedCapabilities = sandbox.SetOf(sandbox.CapabilityRunCode)
	})
	golden.Check(t, *update, "run-refused", attempt{manifest: m}.run(t).both())
	golden.Check(t, *update, "run-stopped", attempt{script: "loop", args: []string{"--timeout", "10ms"}}.run(t).both())
}

func TestRunNeedsItsFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"run"}, {"run", "--", "program.js"}, {"run", "--manifest", "-", "--accept", "sha256:x", "--workload", "report", "--", "-"}, {"run", "--manifest", "m.json", "--workload", "report", "--", "program.js"},
	} {
		if got := run(t, args...); got.code != cli.ExitBadInput || got.stderr == "" {
			t.Errorf("%q: %d %s", args, got.code, got.both())
		}
	}
}
