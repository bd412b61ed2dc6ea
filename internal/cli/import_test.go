package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
)

// importFrom imports the emulator's group.
func (e *emulated) importFrom(t *testing.T, group string, more ...string) result {
	t.Helper()
	return (&world{t: t, url: e.URL, ca: e.ca, clock: e.clock}).as(t, invocation{}, append([]string{
		"import", "--from-group", group, "--resource-group", "rg-agents", "--subscription", subscription,
		"--emulator", "--endpoint-data", e.URL, "--ca-file", e.ca,
	}, more...)...)
}

func TestImportWritesAFileOnceAndTellsWhatIsInIt(t *testing.T) {
	t.Parallel()
	e := newEmulated(t)
	id := e.sandboxOf(t, wire.Labels{"run": "42"})
	plain := e.importFrom(t, "agents")
	if plain.code != cli.ExitAllowed || !strings.Contains(plain.stdout, `resource "sandbox_group" "agents"`) ||
		!strings.Contains(plain.stdout, "#   "+id) || !strings.Contains(plain.stderr, "1 object to import, 1 without a resource here") {
		t.Errorf("exit code %d\n%s", plain.code, plain.both())
	}
	file := filepath.Join(t.TempDir(), "agents.tf")
	if got := e.importFrom(t, "agents", "--out", file); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, "written to") {
		t.Fatalf("exit code %d\n%s", got.code, got.both())
	}
	if written, err := os.ReadFile(file); err != nil || string(written) != plain.stdout {
		t.Errorf("the file holds\n%s%v", written, err)
	}
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := e.importFrom(t, "agents", "--out", file); got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "--force") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	if kept, _ := os.ReadFile(file); string(kept) != "mine" {
		t.Errorf("the file was overwritten:\n%s", kept)
	}
	if got := e.importFrom(t, "agents", "--out", file, "--force"); got.code != cli.ExitAllowed {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	if written, _ := os.ReadFile(file); string(written) != plain.stdout {
		t.Errorf("the file holds\n%s", written)
	}
	if got := e.importFrom(t, "agents", "--strict"); got.code != cli.ExitRefused || got.stdout != plain.stdout {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
}

func TestImportIsOneDocumentInJSON(t *testing.T) {
	t.Parallel()
	e := newEmulated(t)
	e.sandboxOf(t, nil)
	got := e.importFrom(t, "agents", "--format", "json")
	doc := valid(t, got.stdout)
	hcl, _ := doc["hcl"].(string)
	imports, _ := doc["imports"].([]any)
	left, _ := doc["left"].([]any)
	if got.code != cli.ExitAllowed || !strings.Contains(hcl, "import {") || len(imports) != 1 || len(left) != 1 || doc["emulator"] != true {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
}

func TestImportOfWhatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	e := newEmulated(t)
	if got := e.importFrom(t, "others"); got.code == cli.ExitAllowed || got.stdout != "" || !strings.Contains(got.stderr, "look at --from-group") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	e.Fault(t, "status=403,body=empty,op="+wire.SecretList.String())
	if got := e.importFrom(t, "agents"); got.code != cli.ExitRefused || got.stdout != "" {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	e.ClearFaults()
	// What no resource could be written for may be closed: that is said.
	e.Fault(t, "status=403,body=empty,op="+wire.CredentialList.String())
	if got := e.importFrom(t, "agents"); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, "# credential: whether the group has any could not be found out") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
}

func TestImportTakesOneSource(t *testing.T) {
	t.Parallel()
	state := write(t, "state.json", []byte(`{"format_version":"1.0","values":{"root_module":{"resources":[{"address":"aca_sandbox.x","mode":"managed","type":"aca_sandbox","name":"x","values":{"id":"1","environment":{"A":"s3cret"}}}]}}}`))
	if got := run(t, "import", "--from-aca", state); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, "removed {") || strings.Contains(got.both(), "s3cret") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	for _, args := range [][]string{
		{},
		{"--from-group", "a", "--from-aca", state},
		{"--from-aca", state, "--emulator"},
		{"--from-aca", state, "--force"},
		{"--from-aca", write(t, "raw.json", []byte(`{"version":4,"lineage":"x"}`))},
		{"--from-aca", "nowhere.json"},
	} {
		if got := run(t, append([]string{"import"}, args...)...); got.code != cli.ExitBadInput || got.stdout != "" {
			t.Errorf("%q: exit code %d\n%s", args, got.code, got.both())
		}
	}
}
