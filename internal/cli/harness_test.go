package cli_test

import (
	"bytes"
	"context"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if built.dir != "" {
			_ = os.RemoveAll(built.dir) // a temporary directory
		}
		os.Exit(code)
	}))
}

// invocation is one run of the command in this process.
type invocation struct {
	stdin   string
	environ []string
	engine  *sandboxtest.Engine
	ctx     context.Context //nolint:containedctx // a test's
	// service opens the client of the service on Azure, and terminal says that the
	// command believes to be watched.
	service  func(acasapi.Config) (*acasapi.Client, error)
	terminal bool
	// groups adds the backend that makes sandboxes in a group on Azure.
	groups bool
}

type result struct {
	stdout, stderr string
	code           int
}

// both is what a person at a terminal sees.
func (r result) both() string { return r.stdout + r.stderr }

func (i invocation) run(t *testing.T, args ...string) result {
	t.Helper()
	if i.ctx == nil {
		i.ctx = t.Context()
	}
	if i.engine == nil {
		i.engine = sandboxtest.NewEngine(sandboxtest.Options{RunCode: sandboxtest.Script})
	}
	var stdout, stderr bytes.Buffer
	env := cli.Env{
		Stdin: strings.NewReader(i.stdin), Stdout: &stdout, Stderr: &stderr, Environ: i.environ,
		Service: i.service, Terminal: i.terminal,
		Version: "1.2.3", Guests: map[string]string{"javascript": "sha256:" + strings.Repeat("0", 64)},
		Backends: map[string]cli.Backend{"memory": {
			Declarations: func() sandbox.Declarations { return sandboxtest.Declarations(i.engine) },
			Start: func(context.Context, func(string)) (router.Backend, func(context.Context) error, error) {
				//nolint:contextcheck // it is in memory
				return sandboxtest.Backend(t, i.engine), func(context.Context) error { return nil }, nil
			},
			Watch: func(
				_ context.Context, _ func(string), observer func(string) egress.Observer,
			) (router.Backend, func(context.Context) error, error) {
				//nolint:contextcheck // it is in memory
				return sandboxtest.Backend(t, i.engine), func(context.Context) error {
					started := func(r sandboxtest.Request) bool { return r.Op == sandboxtest.OpStart }
					if !slices.ContainsFunc(i.engine.Requests(), started) {
						return nil
					}
					observer("s-1").Observe(egress.Event{
						Time: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Code: sandbox.CodeEgressDenied, Layer: egress.LayerConnection,
						Host: "asked.example.net", Port: 443, Count: 1,
					})
					return nil
				}, nil
			},
		}},
	}
	if i.groups {
		env.Backends[acas.Name] = cli.Backend{Declarations: acas.Declarations, Reach: inGroup}
	}
	code := cli.Main(i.ctx, env, args)
	return result{stdout.String(), stderr.String(), code}
}

func run(t *testing.T, args ...string) result {
	t.Helper()
	return invocation{}.run(t, args...)
}

// write puts bytes into a file of the test's own.
func write(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// encode writes a manifest into a file.
func encode(t *testing.T, m manifest.Manifest) (path string, digest manifest.Digest) {
	t.Helper()
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "manifest.json", b), manifest.DigestOf(b)
}

// report is the manifest of the examples: one policy, one workload that fits.
func report() manifest.Manifest {
	requires := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut)
	return manifest.Manifest{
		Policy: sandbox.Policy{
			Name: "agents", MinimumIsolation: sandbox.IsolationMicroVM, MinimumEvidence: sandbox.EvidenceDocumented,
			DeniedIdentities: sandbox.SetOf(sandbox.IdentityApp),
			Egress: sandbox.Egress{
				Mode: sandbox.EgressAllowlist, Hosts: []string{"packages.example.org", "*.files.example.org"},
				Rules: map[string]sandbox.EgressRule{
					"api": {Host: "api.example.com", Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"/v1"}},
				},
			},
			NeverReaches: []string{"*.internal.example.com", "169.254.0.0/16"},
			Images: sandbox.ImagePolicy{
				Registries: []string{"registry.example.com"}, RequireDigest: true,
			},
		},
		Workloads: map[string]sandbox.Spec{"report": {
			Kind: "codeact", Backend: "acas", Requires: &requires,
			Image:  sandbox.Image{Prebuilt: "python-3.13", User: "0"},
			Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"packages.example.org"}},
			Outputs: map[string]sandbox.Output{
				"chart": {Path: "chart.png", MediaType: "image/png", Optional: true},
				"table": {Path: "out/table.csv"},
			},
		}},
	}
}

// with changes a copy of a manifest's workload.
func with(m manifest.Manifest, name string, change func(*sandbox.Spec)) manifest.Manifest {
	workloads := make(map[string]sandbox.Spec, len(m.Workloads)+1)
	maps.Copy(workloads, m.Workloads)
	s := workloads["report"]
	change(&s)
	workloads[name] = s
	m.Workloads = workloads
	return m
}
