package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// imposed is a manifest in which every row of the posture says something.
func imposed() manifest.Manifest {
	m := with(with(fitting(), "scratch", weak), "wide", wide)
	m.Generation = 4
	m.HostPolicy = &sandbox.Policy{
		MinimumIsolation: sandbox.IsolationHardenedContainer, MinimumIsolationScope: sandbox.ScopeCall,
		MinimumCleanup:     sandbox.CleanupDispose,
		DeniedCapabilities: sandbox.SetOf(sandbox.CapabilitySnapshot, sandbox.CapabilityAttachedIdentity),
		Egress: sandbox.Egress{
			Mode: sandbox.EgressAllowlist, Hosts: []string{"*.example.org", "*.example.com"},
			Guarantees: sandbox.SetOf(sandbox.GuaranteeSNIBound),
		},
		MissingGuarantees: sandbox.MissingGuaranteesRefuse,
		FilesIn:           &sandbox.TransferLimits{MaxBytesPerFile: 8 << 20, MaxTotalBytes: 32 << 20, MaxFiles: 64},
		Images:            sandbox.ImagePolicy{Prebuilt: sandbox.PrebuiltDeny, User: sandbox.ImageUserNonRoot},
	}
	m.Group = &manifest.Group{ID: "/subscriptions/s/resourceGroups/rg-agents/providers/Microsoft.App/sandboxGroups/agents"}
	m.Guarantees = map[string]sandbox.GuaranteeSet{"acas": sandbox.SetOf(sandbox.GuaranteeSNIBound, sandbox.GuaranteeIPLiteralDenied)}
	return m
}

func TestShowPutsThePostureIntoWords(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]manifest.Manifest{"show-small": fitting(), "show-imposed": imposed()} {
		path, _ := encode(t, m)
		got := run(t, "show", path)
		golden.Check(t, *update, name, got.both())
		if got.code != cli.ExitAllowed {
			t.Errorf("%s: exit code %d", name, got.code)
		}
		if got := run(t, "show", path, "--format", "json"); got.code != cli.ExitAllowed || !json.Valid([]byte(got.stdout)) {
			t.Errorf("%s: %s", name, got.both())
		}
	}
}

// A document may hold text that is hostile to a terminal; the words about it may
// not.
func TestWhatDocumentsSayIsEscaped(t *testing.T) {
	t.Parallel()
	m := fitting()
	m.Policy.Name = "agents\u202e \u200b##vso[task.complete]"
	m = with(m, "::error::x", wide)
	path, _ := encode(t, m)
	for _, args := range [][]string{{"show", path}, {"check", path}, {"show", path, "--format", "json"}, {"check", path, "--format", "json"}} {
		got := run(t, args...)
		for _, hostile := range []string{"\u202e", "\u200b", "\u2066", "##vso[", "\n::error"} {
			if strings.Contains(got.both(), hostile) {
				t.Errorf("%q let %q through:\n%s", args[0], hostile, got.both())
			}
		}
		if !strings.Contains(got.both(), `u202e`) {
			t.Errorf("%q does not show what was there:\n%s", args[0], got.both())
		}
	}
}

func TestHelpIsShortAndSaysTheExitCodes(t *testing.T) {
	t.Parallel()
	got := run(t, "--help")
	golden.Check(t, *update, "help", got.both())
	for _, command := range []string{"check", "run", "why", "learn", "diff", "ls", "reap", "import"} {
		if got := run(t, command, "--help"); !strings.Contains(got.stdout, "Exit codes:") || got.code != 0 {
			t.Errorf("%s: %s", command, got.both())
		}
		golden.Check(t, *update, "help-"+command, run(t, command, "--help").both())
	}
	golden.Check(t, *update, "help-image-import", run(t, "image", "import", "--help").both())
	for _, command := range []string{"ls", "catalogue", "import"} {
		if got := run(t, "image", command, "--help"); !strings.Contains(got.stdout, "Exit codes:") || got.code != 0 {
			t.Errorf("image %s: %s", command, got.both())
		}
	}
}

func TestFactsAreWhatBackendFactsTakes(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"acas", "docker", "process", "wasm", "memory"} {
		got := run(t, "facts", "--backend", backend, "--format", "json")
		d, err := manifest.ParseDeclarations([]byte(got.stdout))
		if err != nil || d.Backend != backend || got.code != cli.ExitAllowed {
			t.Errorf("%s: %v\n%s", backend, err, got.both())
		}
		if got := run(t, "facts", "--backend", backend); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, backend) {
			t.Errorf("%s", got.both())
		}
	}
	golden.Check(t, *update, "facts-memory", run(t, "facts", "--backend", "memory").both())
	golden.Check(t, *update, "facts-acas", run(t, "facts", "--backend", "acas").both())
	for _, args := range [][]string{{"facts", "--format", "json"}, {"facts", "--backend", "dokcer"}} {
		if got := run(t, args...); got.code != cli.ExitBadInput {
			t.Errorf("%q: %d %s", args, got.code, got.both())
		}
	}
}

func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	for _, c := range sandbox.Codes() {
		if got := run(t, "explain", string(c)); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, c.Summary()) {
			t.Errorf("%s: %s", c, got.both())
		}
	}
	if got := run(t, "explain"); strings.Count(got.stdout, "\n") < len(sandbox.Codes()) {
		t.Error(got.both())
	}
	if got := run(t, "explain", "egress.not_within_policy", "at", "egress_hosts[1]"); got.code != cli.ExitAllowed {
		t.Errorf("a whole last line is not explained: %s", got.both())
	}
	golden.Check(t, *update, "explain", run(t, "explain", "isolation.below_floor").both())
	if got := run(t, "--version"); got.code != cli.ExitAllowed || got.stdout != "sandboxctl version 1.2.3\n" {
		t.Error(got.both())
	}
	if got := run(t, "version", "--json"); !strings.Contains(got.stdout, `"javascript": "sha256:`) {
		t.Error(got.both())
	}
}

func TestCanonicalAndDigestAgree(t *testing.T) {
	t.Parallel()
	path, digest := encode(t, fitting())
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	loose := strings.ReplaceAll(string(b), ",", ",\n\t") + "\n"
	got := invocation{stdin: loose}.run(t, "canonical", "-")
	if got.code != cli.ExitAllowed || got.stdout != string(b) {
		t.Errorf("exit code %d: %s", got.code, got.both())
	}
	if got := run(t, "digest", path); got.stdout != string(digest)+"\n" {
		t.Errorf("%s", got.both())
	}
	if got := (invocation{stdin: loose}).run(t, "digest", "-"); got.code != cli.ExitBadInput || got.stdout != "" {
		t.Errorf("a loose document has the digest %s", got.both())
	}
	if got := (invocation{stdin: strings.Replace(loose, `"policy"`, `"polciy"`, 1)}).run(t, "canonical", "-"); got.code != cli.ExitBadInput || got.stdout != "" {
		t.Errorf("%s", got.both())
	}
}
