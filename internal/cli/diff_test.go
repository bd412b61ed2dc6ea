package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// widened permits more than [fitting] in some ways and less in others.
func widened() manifest.Manifest {
	m := fitting()
	m.Policy.DeniedIdentities = sandbox.IdentitySet{}
	m.Policy.MinimumIsolation = sandbox.IsolationVM
	m.Policy.Egress.Hosts = []string{"packages.example.org", "cdn.example.net"}
	m.Policy.Egress.Rules = map[string]sandbox.EgressRule{
		"api": {Host: "*.api.example.com", Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"/v1"}},
	}
	m = with(m, "report", func(s *sandbox.Spec) {
		s.Egress.Hosts = []string{"packages.example.org", "cdn.example.net"}
		s.Image = sandbox.Image{Prebuilt: "python-3.14", User: "0"}
	})
	return with(m, "second", wide)
}

func TestDiffSaysWhatIsWider(t *testing.T) {
	t.Parallel()
	policyOf := func(m manifest.Manifest) string {
		b, err := manifest.EncodePolicy(m.Policy)
		if err != nil {
			t.Fatal(err)
		}
		return write(t, "policy.json", b)
	}
	workloadOf := func(m manifest.Manifest) string {
		b, err := manifest.EncodeWorkload(m.Workloads["report"])
		if err != nil {
			t.Fatal(err)
		}
		return write(t, "workload.json", b)
	}
	manifestOf := func(m manifest.Manifest) string {
		path, _ := encode(t, m)
		return path
	}
	lessReach := fitting()
	lessReach.Policy.Egress.Hosts = []string{"packages.example.org", "a.files.example.org"}
	respelt := fitting()
	respelt.Policy.Egress.Hosts = []string{"PACKAGES.example.org.", "*.files.example.org", "a.files.example.org"}
	for name, row := range map[string]struct {
		before, after string
		code          int
	}{
		"diff-widened":          {manifestOf(fitting()), manifestOf(widened()), cli.ExitWidened},
		"diff-back":             {manifestOf(widened()), manifestOf(fitting()), cli.ExitWidened},
		"diff-narrowed":         {manifestOf(fitting()), manifestOf(lessReach), cli.ExitAllowed},
		"diff-equal":            {manifestOf(fitting()), manifestOf(respelt), cli.ExitAllowed},
		"diff-imposed":          {manifestOf(with(with(fitting(), "scratch", weak), "wide", wide)), manifestOf(imposed()), cli.ExitAllowed},
		"diff-lifted":           {manifestOf(imposed()), manifestOf(with(with(fitting(), "scratch", weak), "wide", wide)), cli.ExitWidened},
		"diff-policy":           {policyOf(fitting()), policyOf(widened()), cli.ExitWidened},
		"diff-workload":         {workloadOf(fitting()), workloadOf(widened()), cli.ExitWidened},
		"diff-workload-removed": {manifestOf(with(fitting(), "second", wide)), manifestOf(fitting()), cli.ExitAllowed},
		"diff-workload-copied":  {manifestOf(fitting()), manifestOf(with(fitting(), "copy", func(*sandbox.Spec) {})), cli.ExitAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "diff", row.before, row.after)
			golden.Check(t, *update, name, undigested(got.both()))
			if got.code != row.code {
				t.Errorf("exit code %d, want %d", got.code, row.code)
			}
			if lines := strings.Count(got.stdout, "\n"); lines > 60 {
				t.Errorf("%d lines are no screen", lines)
			}
			got = run(t, "diff", row.before, row.after, "--format", "markdown")
			golden.Check(t, *update, name+"-markdown", undigested(got.both()))
			if got.code != row.code {
				t.Errorf("markdown: exit code %d, want %d", got.code, row.code)
			}
			got = run(t, "diff", row.before, row.after, "--format", "json")
			if got.code != row.code || !json.Valid([]byte(got.stdout)) {
				t.Errorf("json: exit code %d: %s", got.code, got.both())
			}
			if name == "diff-widened" {
				golden.Check(t, *update, name+"-json", undigested(got.both()))
			}
		})
	}
}

// undigested leaves digests out: they say nothing about how two documents differ.
func undigested(text string) string {
	return regexp.MustCompile("sha256:[0-9a-f]{64}").ReplaceAllString(text, "sha256:…")
}

func TestDiffRefusesWhatCannotBeCompared(t *testing.T) {
	t.Parallel()
	whole, _ := encode(t, fitting())
	b, err := manifest.EncodePolicy(fitting().Policy)
	if err != nil {
		t.Fatal(err)
	}
	part := write(t, "policy.json", b)
	loose := write(t, "loose.json", append(b, '\n'))
	facts := write(t, "facts.json", []byte(run(t, "facts", "--backend", "acas", "--format", "json").stdout))
	for says, args := range map[string][]string{
		"a manifest and a policy":  {whole, part},
		"not two documents of one": {part, whole},
		"loose.json":               {part, loose},
		"a backend's facts":        {facts, facts},
		"give OLD and NEW":         {whole},
		"cannot both be":           {"-", "-"},
		"no such file":             {whole, filepath.Join(t.TempDir(), "absent.json")},
		"manifest.json":            {part, write(t, "manifest.json", []byte("{}"))},
	} {
		got := run(t, append([]string{"diff"}, args...)...)
		if got.code != cli.ExitBadInput || !strings.Contains(got.stderr, says) || got.stdout != "" {
			t.Errorf("%q: exit code %d, not %q: %s", args, got.code, says, got.both())
		}
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if got := (invocation{stdin: string(text)}).run(t, "diff", "-", whole); got.code != cli.ExitAllowed {
		t.Errorf("%d %s", got.code, got.both())
	}
}

// Read as a document, a plan would be refused for each of its nulls.
func TestAPlanIsNoDocument(t *testing.T) {
	t.Parallel()
	const plan = "../planjson/testdata/known/plan.json"
	whole, _ := encode(t, fitting())
	for _, args := range [][]string{
		{"diff", whole, plan},
		{"diff", plan, whole},
		{"check", whole, "--baseline", plan},
		{"digest", plan},
		{"canonical", plan},
		{"show", plan},
		{"why", "--host", "a.example", "--manifest", plan},
	} {
		got := run(t, args...)
		if got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "this is a plan") || strings.Count(got.stderr, "\n") > 3 {
			t.Errorf("%q: exit code %d: %s", args, got.code, got.both())
		}
	}
	if got := run(t, "diff", whole, whole); got.code != cli.ExitAllowed {
		t.Errorf("two documents: %d %s", got.code, got.both())
	}
}

func TestHostileNamesAreShownAndDoNothing(t *testing.T) {
	t.Parallel()
	m := widened()
	m.Policy.Name = "agents\u202e|`\u200b##vso[task.complete]"
	m = with(m, "::error::x`|[a](https://evil.example) @all", wide)
	path, _ := encode(t, m)
	before, _ := encode(t, fitting())
	for _, args := range [][]string{
		{"diff", before, path},
		{"diff", before, path, "--format", "json"},
		{"diff", before, path, "--format", "markdown"},
		{"why", "--manifest", path, "--host", "cdn.example.net", "--method", "A\u202e\x1b[2J", "--path", "/\u2066\n::error::x"},
		{"why", "--manifest", path, "--host", "cdn.example.net", "--format", "json"},
		{"why", "--manifest", path, "--host", "a\u202e.example"},
		{"why", "--manifest", path, "--host", "a.example", "--workload", "\u202e\n::error::"},
	} {
		got := run(t, args...)
		for _, hostile := range []string{"\u202e", "\u200b", "\u2066", "##vso[", "\n::error", "\x1b"} {
			if strings.Contains(got.both(), hostile) {
				t.Errorf("%q let %q through:\n%s", args, hostile, got.both())
			}
		}
		if !strings.Contains(got.both(), `u202e`) {
			t.Errorf("%q does not show what was there:\n%s", args, got.both())
		}
	}
	got := run(t, "diff", before, path, "--format", "markdown")
	for line := range strings.Lines(got.stdout) {
		if strings.HasPrefix(line, "| ") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 5 {
			t.Errorf("a row of other cells: %s", line)
		}
	}
}
