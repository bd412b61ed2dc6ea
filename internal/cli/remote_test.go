package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// inGroup is the acas backend as the binary has it.
func inGroup(r cli.Remote) cli.Backend {
	config := acas.Config{
		Subscription: r.Group.Subscription, ResourceGroup: r.Group.ResourceGroup, Group: r.Group.Name,
		Location: r.Service.Location, Endpoint: r.Service.DataEndpoint, ARMEndpoint: r.Service.ARMEndpoint,
		RootCAs: r.Service.RootCAs, Credential: r.Service.Credential, GroupHasNoIdentity: r.NoIdentity,
	}
	return cli.Backend{
		Probe: func(ctx context.Context) (sandbox.Declarations, error) {
			b, err := acas.New(config) //nolint:contextcheck // it sends nothing
			if err != nil {
				return sandbox.Declarations{}, err
			}
			return b.Declarations(), b.Close(ctx)
		},
		Start: func(context.Context, func(string)) (router.Backend, func(context.Context) error, error) {
			b, err := acas.New(config) //nolint:contextcheck // it sends nothing
			if err != nil {
				return nil, nil, err
			}
			return b, b.Close, nil
		},
	}
}

// grouped is an emulator with the group agents, whose guests are of that uid.
type grouped struct {
	*sandboxtest.ACAS

	id   acasapi.GroupID
	args []string // that reach it
}

func newGrouped(t *testing.T, uid string) *grouped {
	t.Helper()
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "id"), []byte("#!/bin/sh\necho "+uid+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	e := sandboxtest.StartACAS(t, sandboxtest.ACASOptions{Shell: func(ctx context.Context, _ *sandboxtest.ACASFiles, req engine.ExecRequest) (int, error) {
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", strings.ReplaceAll(req.Args[2], sandbox.DefaultWorkDir, "/"))
		cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
		cmd.Dir, cmd.Stdout, cmd.Stderr = "/", req.Stdout, req.Stderr
		err := cmd.Run()
		return cmd.ProcessState.ExitCode(), err
	}})
	g := &grouped{ACAS: e, id: acasapi.GroupID{Subscription: subscription, ResourceGroup: "rg", Name: "agents"}}
	g.args = []string{"--emulator", "--endpoint-data", e.URL, "--ca-file", authorityOf(t, e)}
	client, err := acasapi.New(acasapi.Config{ARMEndpoint: e.URL, ExactEndpoints: []string{e.URL}, Transport: e, Credential: auth.Emulator{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutGroup(t.Context(), g.id, wire.Group{Location: "swedencentral"}, acasapi.Wait{}); err != nil {
		t.Fatal(err)
	}
	return g
}

// runs runs id in a sandbox of the group that the manifest names.
func (g *grouped) runs(t *testing.T, group *manifest.Group, flags ...string) result {
	t.Helper()
	requires := sandbox.SetOf(sandbox.CapabilityExec)
	path, digest := encode(t, manifest.Manifest{
		Policy: sandbox.Policy{Name: "agents", MinimumIsolation: sandbox.IsolationNone}, Group: group,
		Workloads: map[string]sandbox.Spec{"script": {
			Kind: "script", Backend: acas.Name, Requires: &requires, Image: sandbox.Image{Prebuilt: "ubuntu"},
			Egress: sandbox.Egress{Mode: sandbox.EgressClosed},
		}},
	})
	args := append([]string{"run", "--manifest", path, "--accept", string(digest), "--workload", "script"}, flags...)
	return invocation{groups: true}.run(t, append(args, "--", "id", "-u")...)
}

// What is not accepted has no word in which backend, and which of its flags, there are.
func TestAManifestThatIsNotAcceptedIsThatBeforeItsBackendHasNoGroup(t *testing.T) {
	t.Parallel()
	accepted, digest := encode(t, manifest.Manifest{
		Policy: sandbox.Policy{Name: "agents", MinimumIsolation: sandbox.IsolationNone},
		Workloads: map[string]sandbox.Spec{"script": {
			Kind: "script", Backend: acas.Name, Image: sandbox.Image{Prebuilt: "ubuntu"}, Egress: sandbox.Egress{Mode: sandbox.EgressClosed},
		}},
	})
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mismatch := string(sandbox.CodeDigestMismatch) + " at options.manifest"
	for name, row := range map[string]struct {
		path, accept string
		flags        []string
		says         string
	}{
		"another digest":             {accepted, string(manifest.DigestOf(nil)), nil, mismatch},
		"another digest, and flags":  {accepted, string(manifest.DigestOf(nil)), []string{"--workload", "nosuch", "--emulator"}, mismatch},
		"no manifest, and flags":     {broken, string(manifest.DigestOf([]byte("{}"))), []string{"--emulator"}, "document."},
		"accepted, and has no group": {accepted, string(digest), nil, "--group"},
	} {
		args := append([]string{"run", "--manifest", row.path, "--accept", row.accept, "--workload", "script"}, row.flags...)
		got := invocation{groups: true}.run(t, append(args, "--", program)...)
		if got.code == cli.ExitAllowed || !strings.Contains(got.stderr, row.says) || strings.Contains(got.stderr, "group") != (row.says == "--group") {
			t.Errorf("%s: exit code %d\n%s", name, got.code, got.both())
		}
	}
}

func TestAProgramRunsInTheManifestsGroup(t *testing.T) {
	t.Parallel()
	g := newGrouped(t, "1000")
	got := g.runs(t, &manifest.Group{ID: g.id.String(), Endpoint: g.URL, Location: "swedencentral"}, g.args...)
	if got.code != cli.ExitAllowed || got.stdout != "│ 1000\n" || len(g.Guests()) != 0 {
		t.Fatalf("exit code %d, left %q\n%s", got.code, g.Guests(), got.both())
	}
	if !strings.Contains(got.stderr, "image.user_unfit at image.user") {
		t.Errorf("nobody is told that the guest is not root\n%s", got.stderr)
	}
	named := g.runs(t, nil, append(g.args, "--group", "agents", "--resource-group", "rg", "--subscription", subscription)...)
	if named.code != cli.ExitAllowed {
		t.Errorf("a group that flags name: exit code %d\n%s", named.code, named.both())
	}
}

// The endpoint is the caller's to say, whatever the manifest says.
func TestAManifestAddsNoEndpointToARun(t *testing.T) {
	t.Parallel()
	g, other := newGrouped(t, "0"), newGrouped(t, "0")
	got := g.runs(t, &manifest.Group{ID: g.id.String(), Endpoint: other.URL}, g.args...)
	if got.code != cli.ExitRefused || !strings.Contains(got.stderr, "service.endpoint_not_allowed at group") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	for _, r := range other.Requests() {
		if strings.Contains(r.Operation, "sandbox") {
			t.Errorf("%s was sent to the manifest's endpoint", r.Operation)
		}
	}
}

func TestWhoNamesNoGroupIsToldSo(t *testing.T) {
	t.Parallel()
	g := newGrouped(t, "0")
	if got := g.runs(t, nil, g.args...); got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "name the sandbox group with --group") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
}

func TestFactsOfAnEmulatorAreItsOwnWord(t *testing.T) {
	t.Parallel()
	g := newGrouped(t, "0")
	got := invocation{groups: true}.run(t, append([]string{"facts", "--backend", "acas", "--group", g.id.String()}, g.args...)...)
	if got.code != cli.ExitAllowed || !strings.Contains(got.stdout, "none               emulated") || !strings.Contains(got.stdout, "on the emulator at "+g.URL) {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	for name, args := range map[string][]string{
		"of no backend": {"facts", "--group", "agents"},
		"of another":    {"facts", "--backend", "memory", "--group", "agents"},
		"for another's": {"conformance", "--backend", "memory", "--group", "agents"},
	} {
		if got := (invocation{groups: true}).run(t, args...); got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "--group") {
			t.Errorf("%s: exit code %d\n%s", name, got.code, got.both())
		}
	}
}

func TestConformanceReachesAGroup(t *testing.T) {
	t.Parallel()
	g := newGrouped(t, "0")
	args := append([]string{"conformance", "--backend", "acas", "--image", "ubuntu", "--group", g.id.String(), "--only", "FILES_IN/an-empty-file-is-a-file"}, g.args...)
	if got := (invocation{groups: true}).run(t, args...); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, "acas conforms: 1 held") || len(g.Guests()) != 0 {
		t.Errorf("exit code %d, left %q\n%s", got.code, g.Guests(), got.both())
	}
}
