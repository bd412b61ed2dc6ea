package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
)

// The page of the example for pipelines shows what its first step prints.
func TestThePipelineExampleIsCheckedAsItsPageSays(t *testing.T) {
	t.Parallel()
	example := filepath.Join("..", "..", "examples", "ci")
	policies := read(t, filepath.Join(example, "policies", "main.tf"))
	page := read(t, filepath.Join(example, "README.md"))

	if r := checkDirectory(t, directory(t, map[string]string{"root/main.tf": policies})); r.code != cli.ExitAllowed {
		t.Errorf("exit %d\n%s", r.code, r.stdout)
	}
	workload := strings.LastIndex(policies, `["packages.example.org"]`)
	wider := policies[:workload] + `["packages.example.org", "*.example.org"]` + policies[workload+len(`["packages.example.org"]`):]
	r := checkDirectory(t, directory(t, map[string]string{"root/main.tf": wider}))
	if r.code != cli.ExitRefused || !strings.Contains(page, "```text\n"+r.stdout+"```\n") {
		t.Errorf("exit %d, and the page does not have\n%s", r.code, r.stdout)
	}
}

// A code host runs the commands that people run.
func TestThePipelineExamplesWorkflowRunsThePipeline(t *testing.T) {
	t.Parallel()
	example := filepath.Join("..", "..", "examples", "ci")
	ran, installed := false, false
	for _, step := range workflowSteps(t) {
		installed = installed || strings.Contains(step.Run, "make install\n") && strings.Contains(step.Run, `"$PWD/bin" >> "$GITHUB_PATH"`)
		ran = ran || installed && step.Run == "examples/ci/pipeline"
	}
	if info, err := os.Stat(filepath.Join(example, "pipeline")); !ran || err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the workflow installs what the pipeline needs, and runs it: %v; it can be run: %v", ran, err)
	}
}

// A baseline that cannot be read ends the job. It is never taken for one that is not
// there yet, and never from the change itself.
func TestTheWorkflowTakesItsBaselineFromTheBaseBranchOnly(t *testing.T) {
	t.Parallel()
	script, depth := "", ""
	for _, step := range workflowSteps(t) {
		if step.Name == "baseline" {
			script = step.Run
		}
		if strings.HasPrefix(step.Uses, "actions/checkout@") {
			depth = step.With["fetch-depth"]
		}
	}
	if script == "" || depth != "0" {
		t.Fatalf("fetch-depth %q, and the step is\n%s", depth, script)
	}
	for name, c := range map[string]struct {
		trusted, base string
		fails         bool
		want          string
	}{
		"the branch has one":      {trusted: "trusted", base: "base", want: "trusted"},
		"the branch has none":     {base: "base"},
		"the branch is not there": {trusted: "trusted", base: "origin/base", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone := t.TempDir()
			kept := filepath.Join(clone, "examples", "ci", "baseline.json")
			if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
				t.Fatal(err)
			}
			in := func(program string, args ...string) error {
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Dir = clone
				cmd.Env = append(os.Environ(), "BASE="+c.base, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
				out, err := cmd.CombinedOutput()
				t.Logf("%s %q\n%s", program, args, out)
				return err
			}
			write := func(path, content string) {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(filepath.Join(clone, "file"), "")
			if c.trusted != "" {
				write(kept, c.trusted)
			}
			for _, args := range [][]string{
				{"init", "-q", "-b", "base"},
				{"add", "."},
				{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "a"},
			} {
				if err := in("git", args...); err != nil {
					t.Fatal(err)
				}
			}
			write(kept, "of the change")
			if err := in("bash", "-e", "-c", script); (err != nil) != c.fails {
				t.Errorf("the step fails: %v", err)
			}
			if got, _ := os.ReadFile(kept); string(got) != c.want {
				t.Errorf("the baseline is %q, not %q", got, c.want)
			}
		})
	}
}

type workflowStep struct {
	Name, Uses, Run string
	With            map[string]string
}

func workflowSteps(t *testing.T) []workflowStep {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct{ Steps []workflowStep }
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join("..", "..", "examples", "ci", "workflow.yml"))), &workflow); err != nil {
		t.Fatal(err)
	}
	return workflow.Jobs["check"].Steps
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
