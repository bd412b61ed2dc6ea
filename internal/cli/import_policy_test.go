package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/translate"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// others are rules of other tools, by the word of --from.
var others = map[string]string{
	"aca": "aca.yaml", "docker": "docker.yaml", "networkpolicy": "networkpolicy.yaml", "openshell": "openshell.yaml",
}

func other(name string) string { return filepath.Join("..", "translate", "testdata", name) }

const clean = `rules: [{name: docs, actions: ["connect:tcp"], resources: ["docs.example.com:443"], decision: allow}]`

func TestImportPolicyWritesThePolicyAndSaysWhatIsNotInIt(t *testing.T) {
	t.Parallel()
	got := run(t, "import-policy", "--from", "docker", other("docker.yaml"), "--name", "builds")
	if got.code != cli.ExitAllowed {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	golden.Check(t, *update, "import-docker", got.stdout+"--- standard error\n"+got.stderr)
}

func TestImportPolicyExitCodes(t *testing.T) {
	t.Parallel()
	lossless := write(t, "rules.yaml", []byte(clean))
	for name, row := range map[string]struct {
		args []string
		code int
		says string
	}{
		"losses":              {[]string{"--from", "aca", other("aca.yaml")}, cli.ExitAllowed, "widens"},
		"losses, strictly":    {[]string{"--from", "aca", other("aca.yaml"), "--strict"}, cli.ExitRefused, "widens"},
		"no losses, strictly": {[]string{"--from", "docker", lossless, "--strict"}, cli.ExitAllowed, "Nothing was lost"},
		"another format":      {[]string{"--from", "networkpolicy", other("aca.yaml")}, cli.ExitBadInput, "NetworkPolicy"},
		"no such format":      {[]string{"--from", "iptables", other("aca.yaml")}, cli.ExitBadInput, "aca, docker, networkpolicy, openshell"},
		"no format":           {[]string{other("aca.yaml")}, cli.ExitBadInput, "--from"},
		"no file":             {[]string{"--from", "aca"}, cli.ExitBadInput, "FILE"},
		"file is not there":   {[]string{"--from", "aca", "nowhere.yaml"}, cli.ExitBadInput, "nowhere.yaml"},
		"text is no format":   {[]string{"--from", "docker", lossless, "--format", "text"}, cli.ExitBadInput, "hcl, json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, append([]string{"import-policy"}, row.args...)...)
			if got.code != row.code || !strings.Contains(got.both(), row.says) {
				t.Errorf("exit %d, want %d and %q:\n%s", got.code, row.code, row.says, got.both())
			}
			if row.code == cli.ExitBadInput && got.stdout != "" {
				t.Errorf("a policy was written: %s", got.stdout)
			}
		})
	}
}

func TestImportPolicyTakesANameThatIsALabel(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "translate", "testdata", "docker.yaml")
	if got := run(t, "import-policy", "--from", "docker", file, "--name", "build_tools"); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, `"sandbox_policy" "build_tools"`) {
		t.Errorf("exit %d\n%s", got.code, got.both())
	}
	for _, name := range []string{"", "build tools", "1st", "a\"b", "${x}", "ünï cödé"} {
		got := run(t, "import-policy", "--from", "docker", file, "--name", name)
		if got.code != cli.ExitBadInput || !strings.Contains(got.both(), "value.invalid_text at name") || got.stdout != "" {
			t.Errorf("%q: exit %d\n%s", name, got.code, got.both())
		}
	}
}

func TestImportPolicyAsJSONHoldsAPolicyDocument(t *testing.T) {
	t.Parallel()
	got := run(t, "import-policy", "--from", "openshell", other("openshell.yaml"), "--format", "json")
	if got.code != cli.ExitAllowed || got.stderr != "" {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	var answer struct {
		From   string
		Policy json.RawMessage
		Losses []struct {
			Effect, Path, Why string
			Line              int
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.From != "openshell" || len(answer.Losses) == 0 || answer.Losses[0].Line == 0 {
		t.Errorf("got %+v", answer)
	}
	document, err := manifest.Canonical(answer.Policy)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.ParsePolicy(document); err != nil {
		t.Errorf("the policy is no document: %v", err)
	}
}

func TestImportPolicyReadsStandardInput(t *testing.T) {
	t.Parallel()
	got := invocation{stdin: clean}.run(t, "import-policy", "--from", "docker", "-")
	if got.code != cli.ExitAllowed || !strings.Contains(got.stdout, `"docs.example.com"`) {
		t.Errorf("exit %d: %s", got.code, got.both())
	}
}

// What Terraform reads is what was written, however hostile the source's names.
func TestImportPolicyIsWrittenAsItIs(t *testing.T) {
	t.Parallel()
	input := "name: \"a\\u202e ::error:: ##[command] \\e[31m ${x}\"\nrules: []\n"
	tr, err := translate.Read(translate.Docker, []byte(input))
	if err != nil {
		t.Fatal(err)
	}
	got := invocation{stdin: input}.run(t, "import-policy", "--from", "docker", "-")
	if want := string(tr.HCL(translate.Label(tr.Policy.Name))); got.stdout != want {
		t.Errorf("got\n%s\nwant\n%s", got.stdout, want)
	}
}

// The provider itself accepts what is written, of every source.
func TestImportedPoliciesPlan(t *testing.T) {
	t.Parallel()
	config := versions
	for from, file := range others {
		got := run(t, "import-policy", "--from", from, other(file), "--name", from)
		if got.code != cli.ExitAllowed {
			t.Fatalf("%s: %s", from, got.stderr)
		}
		config += got.stdout + `
resource "sandbox_workload" "` + from + `" {
  policy  = sandbox_policy.` + from + `
  backend = "wasm"
  kind    = "codeact"
  requires = ["run_code"]
  minimum_isolation = "runtime"
}
`
	}
	config = strings.ReplaceAll(config, `egress_mode `, "minimum_isolation = \"runtime\"\n  egress_mode ")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	got := checkDirectory(t, dir)
	if got.code != cli.ExitAllowed {
		t.Errorf("exit %d\n%s\n%s", got.code, got.both(), config)
	}
}
