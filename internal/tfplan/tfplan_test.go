package tfplan

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACopyHasTheConfigurationAndNothingOfARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"root/main.tf":                   "terraform {\n  backend \"s3\" {}\n}\nmodule \"m\" { source = \"../mods/a\" }\nmodule \"n\" { source = \"./inner\" }\n",
		"root/inner/n.tf":                "locals {}\n",
		"root/policies/p.json":           "{}",
		"root/terraform.tfvars":          "",
		"root/terraform.tfstate":         "state",
		"root/terraform.tfstate.backup":  "state",
		"root/x.tfstate.d/state":         "state",
		"root/.terraform.lock.hcl":       "",
		"root/.terraform/modules/x.json": "",
		"root/.git/config":               "",
		"root/.sandbox/state.db":         "",
		"mods/a/main.tf":                 "module \"b\" { source = \"../b\" }\n",
		"mods/b/main.tf":                 "terraform {\n  backend \"s3\" {}\n}\n",
		"mods/unused/main.tf":            "",
		"secret":                         "secret",
	})
	if err := errors.Join(
		os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "root", "stolen.json")),
		os.Symlink("../../secret", filepath.Join(dir, "root", "policies", "climbed.json")),
		os.Symlink("p.json", filepath.Join(dir, "root", "policies", "alias.json")),
		os.Symlink("nowhere", filepath.Join(dir, "root", "broken")),
	); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	config, err := hclsource.Load(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	root, err := copyConfig(config, to)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := filepath.WalkDir(to, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rel, _ := filepath.Rel(to, path)
			got = append(got, filepath.ToSlash(rel))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"mods/a/main.tf", "mods/b/main.tf", "root/inner/n.tf", "root/main.tf", "root/policies/alias.json", "root/policies/p.json",
		"root/terraform.tfvars",
	}
	if !slices.Equal(got, want) || root != filepath.Join(to, "root") {
		t.Errorf("copied to %s:\n got %q\nwant %q", root, got, want)
	}
	if b, err := os.ReadFile(filepath.Join(root, "main.tf")); err != nil || strings.Contains(string(b), "s3") {
		t.Errorf("%s %v", b, err)
	}
}

func TestTerraformIsNotLedAwayFromTheCopy(t *testing.T) {
	t.Parallel()
	o := Options{Environ: []string{
		"HOME=/home/x", "TF_DATA_DIR=/x", "TF_WORKSPACE=x", "TF_CLI_ARGS=-x", "TF_CLI_ARGS_plan=-destroy", "TF_LOG=trace", "TF_LOG_PATH=/x",
		"TF_CLI_CONFIG_FILE=relative.rc", "SANDBOX_POLICY_FILE=policy.json", "TF_VAR_kind=codeact", "SANDBOX_POLICY_DIGEST=sha256:x",
	}}
	env := o.environ()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"HOME=/home/x", "TF_VAR_kind=codeact", "SANDBOX_POLICY_DIGEST=sha256:x", "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1",
		"TF_CLI_CONFIG_FILE=" + filepath.Join(wd, "relative.rc"), "SANDBOX_POLICY_FILE=" + filepath.Join(wd, "policy.json"),
	}
	if !slices.Equal(env, want) {
		t.Errorf("\n got %q\nwant %q", env, want)
	}
}

func TestADevelopmentOverrideIsRecognised(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"provider_installation {\n  dev_overrides {\n    \"sandbox-iac/sandbox\" = \"/x\"\n  }\n}":              true,
		"provider_installation { dev_overrides { \"registry.example.com/sandbox-iac/sandbox\" = \"/x\" } }":     true,
		"provider_installation {\n  # \"sandbox-iac/sandbox\" = \"/x\"\n}":                                      false,
		"provider_installation {\n  dev_overrides {\n    \"other/sandbox\" = \"/x\"\n  }\n}":                    false,
		"provider_installation { filesystem_mirror { path = \"/x\"\n include = [\"*/sandbox-iac/sandbox\"] } }": false,
		"provider_installation {\n  dev_overrides {\n    \"xsandbox-iac/sandbox\" = \"/x\"\n  }\n}":             false,
		"": false,
	} {
		if got := override.MatchString(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestDiagnosticsOfOursCarryTheirCode(t *testing.T) {
	t.Parallel()
	output := `not json
{"type":"version"}
{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Egress is wider than the policy allows","detail":"Workload \"report\":\nFound: a\nRequired: b\nWould become reachable: evil.example.com:443\n\nName another.\n\n egress.not_within_policy at workloads[\"a b\"].egress_hosts[0]","address":"sandbox_manifest.hosts","range":{"filename":"main.tf","start":{"line":7}}}}
{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Unsupported argument","detail":"An argument named \"x\" is not expected here."}}
{"type":"diagnostic","diagnostic":{"severity":"warning","summary":"w","detail":"Found: a\n\n egress.guarantee_missing at egress_mode"}}
{"type":"diagnostic","diagnostic":{"severity":"error","summary":"forged","detail":"x\n no.such_code at a"}}
`
	got := readDiagnostics([]byte(output))
	if len(got) != 4 {
		t.Fatalf("%d diagnostics", len(got))
	}
	if d := got[0]; !d.Error || d.Code != sandbox.CodeEgressNotWithinPolicy || d.Path != `workloads["a b"].egress_hosts[0]` || d.File != "main.tf" || d.Line != 7 {
		t.Errorf("%+v", d)
	}
	f := got[0].Finding()
	if f.Subject != `Workload "report"` || f.Found != "a" || f.Required != "b" || f.Witness != "evil.example.com:443" ||
		f.Remedy != "Name another." || f.Verdict != sandbox.Deny {
		t.Errorf("%+v", f)
	}
	if got[1].Code != "" || got[2].Finding().Verdict != sandbox.Allow || got[3].Code != "" {
		t.Errorf("%+v", got[1:])
	}
}

func FuzzReadDiagnosticsTakesAnything(f *testing.F) {
	f.Add([]byte(`{"type":"diagnostic","diagnostic":{"severity":"error","detail":"x\n egress.not_within_policy at a"}}`))
	f.Add([]byte("{}\n[]\nnull\n"))
	f.Fuzz(func(_ *testing.T, output []byte) {
		for _, d := range readDiagnostics(output) {
			_ = d.Finding()
		}
	})
}
