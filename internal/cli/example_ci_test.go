package cli_test

import (
	"os"
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
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(example, "workflow.yml"))), &workflow); err != nil {
		t.Fatal(err)
	}
	ran := false
	for _, step := range workflow.Jobs["check"].Steps {
		ran = ran || step.Run == "examples/ci/pipeline"
	}
	if info, err := os.Stat(filepath.Join(example, "pipeline")); !ran || err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the workflow runs the pipeline: %v; it can be run: %v", ran, err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
