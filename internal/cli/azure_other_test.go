package cli_test

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
)

// operated is a server that the commands are run against, and a client beside them
// that sees what became of it.
type operated struct {
	*acasapi.Group

	client  *acasapi.Client
	clock   *clock
	url, ca string
}

func (o operated) run(t *testing.T, args ...string) result {
	t.Helper()
	return (&world{t: t, url: o.url, ca: o.ca, clock: o.clock}).run(t, args...)
}

// newOperated makes the group agents on a server. The clock is that of its clients.
func newOperated(t *testing.T, url, ca string, c *clock) operated {
	t.Helper()
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client, err := acasapi.New(acasapi.Config{
		ARMEndpoint: url, DataEndpoint: url, ExactEndpoints: []string{url}, RootCAs: roots, Credential: auth.Emulator{},
		Clock: c, Jitter: func() float64 { return 0.5 },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	id := acasapi.GroupID{Subscription: subscription, ResourceGroup: "rg-agents", Name: "agents"}
	if _, err := client.PutGroup(t.Context(), id, wire.Group{Location: "swedencentral"}, acasapi.Wait{}); err != nil {
		t.Fatal(err)
	}
	g, err := client.Group(id)
	if err != nil {
		t.Fatal(err)
	}
	return operated{g, client, c, url, ca}
}

// sandboxOf makes a sandbox as a host of ours does.
func (o operated) sandboxOf(t *testing.T, labels wire.Labels) string {
	t.Helper()
	made, err := o.CreateSandbox(t.Context(), wire.CreateSandbox{
		SourcesRef: &wire.SourcesRef{DiskImage: &wire.ImageRef{Name: "ubuntu", IsPublic: true}},
		Resources:  &wire.Resources{CPU: "1000m", Memory: "2048Mi"}, Labels: labels,
		EgressPolicy: &wire.EgressPolicy{
			DefaultAction: wire.EgressDeny, TrafficInspection: wire.InspectFull,
			HostRules: []wire.HostRule{{Pattern: "packages.example.org", Action: wire.EgressAllow}},
		},
	}, acasapi.Making{})
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

func (o operated) sandboxes(t *testing.T) []string {
	t.Helper()
	ids := []string{}
	for s, err := range o.Sandboxes(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
	}
	return ids
}

func (o operated) images(t *testing.T) []wire.Image {
	t.Helper()
	all := []wire.Image{}
	for i, err := range o.Images(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, i)
	}
	return all
}

// operate runs every command against a server that keeps to the contract.
func operate(t *testing.T, o operated) {
	t.Helper()
	first, second := o.sandboxOf(t, wire.Labels{"run": "42"}), o.sandboxOf(t, wire.Labels{"run": "43"})
	want := func(code int, text string, args ...string) {
		t.Helper()
		if got := o.run(t, args...); got.code != code || !strings.Contains(got.both(), text) {
			t.Errorf("%q: exit code %d, and no %q in\n%s", args, got.code, text, got.both())
		}
	}
	want(cli.ExitAllowed, first, "ls")
	want(cli.ExitAllowed, "allowlist (1)", "ls", "--label", "run=42")
	want(cli.ExitAllowed, "0 sandboxes with run=44", "ls", "--label", "run=44")
	valid(t, o.run(t, "ls", "--format", "json").stdout)
	want(cli.ExitAllowed, "packages.example.org", "show", "--sandbox", first)
	want(cli.ExitRefused, "service.not_found", "show", "--sandbox", "7b0c2f3e-1d5a-4f0e-9a51-2f6d0c1e8b44")
	want(cli.ExitAllowed, "nothing is that old", "reap", "--older-than", "1h")
	want(cli.ExitAllowed, "2 sandboxes would be deleted", "reap", "--older-than", "0s", "--dry-run")
	want(cli.ExitAllowed, "of 1 sandbox: 1 gone", "reap", "--older-than", "0s", "--label", "run=42")
	if left := o.sandboxes(t); !slices.Equal(left, []string{second}) {
		t.Errorf("%q are left", left)
	}
	want(cli.ExitAllowed, "of 1 sandbox: 1 gone", "reap", "--older-than", "0s")

	want(cli.ExitAllowed, "ubuntu", "image", "catalogue")
	want(cli.ExitRefused, "did you mean ubuntu?", "image", "catalogue", "ubutnu")
	want(cli.ExitAllowed, "imported: ", "image", "import", reference)
	want(cli.ExitAllowed, "already imported: ", "image", "import", reference)
	want(cli.ExitAllowed, reference, "image", "ls")
	if all := o.images(t); len(all) != 1 || all[0].Reference() != reference {
		t.Errorf("the group has %+v", all)
	}
}

// The second opinion on the commands is a server that somebody else wrote from the
// same contract; package acasapi's tests say how it is named.
func TestTheCommandsWorkAgainstTheOtherServer(t *testing.T) {
	t.Parallel()
	dir, python := os.Getenv("SANDBOX_TEST_INTEROP_DIR"), os.Getenv("SANDBOX_TEST_INTEROP_PYTHON")
	if dir == "" || python == "" {
		t.Skip("the other server is named by SANDBOX_TEST_INTEROP_DIR and SANDBOX_TEST_INTEROP_PYTHON")
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	cmd := exec.CommandContext(t.Context(), python, "-m", "fake_acas", "--port", "0", "--ca-out", ca, "--image-polls", "3")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s does not start the other server: %v", python, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ URL string }
	if err != nil || json.Unmarshal(line, &ready) != nil {
		_ = cmd.Wait()
		t.Fatalf("the other server said %q: %v\n%s", line, err, complaints.String())
	}
	// Its clients' clock is far from its own, as it may be.
	operate(t, newOperated(t, ready.URL, ca, &clock{now: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)}))
}
