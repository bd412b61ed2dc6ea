package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// blocked is a terminal at which nobody types: reading waits until release.
type blocked struct {
	reading context.CancelFunc
	release chan struct{}
}

func (b blocked) Read([]byte) (int, error) {
	b.reading()
	<-b.release
	return 0, io.EOF
}

func TestAnInterruptEndsTheWaitForStandardInput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"check", "-"},
		{"show", "-"},
		{"canonical", "-"},
		{"digest", "-"},
		{"import-policy", "--from", "aca", "-"},
		{"run", "--manifest", "-", "--accept", "sha256:" + strings.Repeat("0", 64), "--workload", "w", "--", "p.js"},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			release := make(chan struct{})
			t.Cleanup(func() { close(release) })
			var stdout, stderr bytes.Buffer
			code := cli.Main(ctx, cli.Env{Stdin: blocked{cancel, release}, Stdout: &stdout, Stderr: &stderr, Version: "1.2.3"}, args)
			if code != cli.ExitInterrupted || stdout.Len() > 0 {
				t.Errorf("exit %d, %s%s", code, &stdout, &stderr)
			}
		})
	}
}

func TestASandboxThatStaysBehindIsToldWhateverTheProgramDid(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"succeeded": "write made.txt x",
		"failed":    "exit 3",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sandboxtest.NewEngine(sandboxtest.Options{RunCode: sandboxtest.Script})
			e.Intercept(func(r sandboxtest.Request) error {
				if r.Op == sandboxtest.OpDelete {
					return errors.New("the engine is gone")
				}
				return nil
			})
			r := attempt{script: script, engine: e}.run(t)
			if r.code != cli.ExitProgram || !strings.Contains(r.stderr, "removing sandbox") {
				t.Errorf("exit %d\n%s", r.code, r.both())
			}
		})
	}
}

// hostile is text that somebody else chose: what it would do to a terminal, to a
// CI runner, and to programs that read locators.
const hostile = "x\x1b[2J\u202e\n::error::x\n##vso[task.complete]\n egress.mode at backend\r\x00"

// jsonText is text as a JSON string.
func jsonText(text string) string {
	return `"` + strings.NewReplacer("\x1b", `\u001b`, "\n", `\n`, "\r", `\r`, "\x00", `\u0000`).Replace(text) + `"`
}

func TestHostileNamesInAPlanCommandNothing(t *testing.T) {
	t.Parallel()
	h := jsonText(hostile)
	planOf := func(change string) string {
		return `{"format_version":"1.2","resource_changes":[` + change + `]}`
	}
	workload := func(address, after string) string {
		return `{"address":` + address + `,"mode":"managed","type":"sandbox_workload","provider_name":"example.com/sandbox-iac/sandbox",` +
			`"change":{"actions":["create"],"after":` + after + `,"after_unknown":{}}}`
	}
	for name, plan := range map[string]string{
		"an address":     planOf(workload(h, `{"kind":"k","backend":"nope","policy":{}}`)),
		"a kind":         planOf(workload(`"sandbox_workload.a"`, `{"kind":`+h+`,"backend":"wasm","policy":{"minimum_isolation":"vm"}}`)),
		"a backend":      planOf(workload(`"sandbox_workload.a"`, `{"kind":"k","backend":`+h+`,"policy":{}}`)),
		"a word":         planOf(workload(`"sandbox_workload.a"`, `{"kind":"k","backend":"wasm","egress_mode":`+h+`,"policy":{"minimum_isolation":`+h+`}}`)),
		"a policy":       planOf(workload(`"sandbox_workload.a"`, `{"kind":"k","backend":"wasm","policy":{"name":`+h+`,"minimum_isolation":"vm"}}`)),
		"a host":         planOf(workload(`"sandbox_workload.a"`, `{"kind":"k","backend":"wasm","egress_mode":"allowlist","egress_hosts":[`+h+`],"policy":{}}`)),
		"a key":          planOf(workload(`"sandbox_workload.a"`, `{"kind":"k","backend":"wasm","outputs":{`+h+`:{"path":`+h+`}},"egress_rules":{`+h+`:{}},"labels":{`+h+`:`+h+`},"policy":{}}`)),
		"facts":          planOf(workload(`"sandbox_workload.a"`, `{"kind":"k","backend":"wasm","backend_facts":`+h+`,"policy":{}}`)),
		"a type":         planOf(workload(`"sandbox_workload.a"`, `{"kind":`+`{`+h+`:1}`+`,"backend":"wasm","policy":{}}`)),
		"a deferral":     `{"format_version":"1.2","deferred_changes":[{"reason":"x","resource_change":{"address":` + h + `}}]}`,
		"a version":      `{"format_version":` + h + `}`,
		"a broken field": `{"format_version":"1.2",` + h + `:nope}`,
		"a manifest": planOf(`{"address":` + h + `,"mode":"managed","type":"sandbox_manifest","provider_name":"sandbox-iac/sandbox",` +
			`"change":{"actions":["create"],"after":{"document":` + h + `},"after_unknown":{}}}`),
		"a workload of a manifest": planOf(`{"address":"sandbox_manifest.m","mode":"managed","type":"sandbox_manifest","provider_name":"sandbox-iac/sandbox",` +
			`"change":{"actions":["create"],"after":{"policy":{},"workloads":{` + h + `:{"kind":"k","backend":` + h + `}}},"after_unknown":{"document":true}}}`),
	} {
		for _, format := range []string{"text", "json", "sarif", "junit", "markdown"} {
			t.Run(name+" as "+format, func(t *testing.T) {
				t.Parallel()
				r := invocation{stdin: plan}.run(t, "check", "-", "--format", format)
				if r.code != cli.ExitRefused && r.code != cli.ExitBadInput {
					t.Errorf("exit %d", r.code)
				}
				harmless(t, r.both())
			})
		}
	}
}

// harmless looks for what hostile text would have done.
func harmless(t *testing.T, printed string) {
	t.Helper()
	if strings.ContainsAny(printed, "\x1b\r\x00\u202e") || strings.Contains(printed, "##vso[") {
		t.Errorf("printed a control sequence: %q", printed)
	}
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.HasPrefix(line, " egress.mode at backend") {
			t.Errorf("a line of its own: %q", line)
		}
	}
}

func TestHostileNamesInADocumentCommandNothing(t *testing.T) {
	t.Parallel()
	h := jsonText(hostile)
	for name, document := range map[string]string{
		"a field":          `{"api_version":"sandbox/v1","document":"manifest",` + h + `:1,"policy":{` + h + `:1},"workloads":{}}`,
		"a name twice":     `{` + h + `:1,` + h + `:1}`,
		"a null":           `{` + h + `:null}`,
		"a broken value":   `{` + h + `:nope}`,
		"a workload":       `{"api_version":"sandbox/v1","document":"manifest","policy":{"name":` + h + `},"workloads":{` + h + `:{"backend":` + h + `,"kind":` + h + `,"requires":[` + h + `]}}}`,
		"a sort":           `{"api_version":"sandbox/v1","document":` + h + `}`,
		"a version":        `{"api_version":` + h + `}`,
		"no document":      hostile,
		"what follows one": `{"api_version":"sandbox/v1"}` + hostile,
	} {
		for _, command := range []string{"check", "show", "canonical", "digest"} {
			t.Run(command+" "+name, func(t *testing.T) {
				t.Parallel()
				r := invocation{stdin: document}.run(t, command, "-")
				if r.code == cli.ExitAllowed {
					t.Errorf("exit %d", r.code)
				}
				harmless(t, r.both())
			})
		}
	}
}
