package terraformtest

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	tfaddr "github.com/hashicorp/terraform-registry-address"
)

const (
	// Module is this module, whose root is the provider's program.
	Module = "github.com/sandbox-iac/terraform-provider-sandbox"

	typeName = "sandbox"
	// Address is the provider's whole address.
	Address = string(tfaddr.DefaultProviderRegistryHost) + "/sandbox-iac/" + typeName
	// Requirements says where the provider comes from, in HCL.
	Requirements = "terraform {\n  required_providers {\n    sandbox = { source = \"" + Address + "\" }\n  }\n}\n"
	// Program is the name of a provider's program in a folder of overrides.
	Program = "terraform-provider-" + typeName

	// deadline bounds one command.
	deadline = 10 * time.Minute
)

// Command finds the command line that the acceptance tests use as well.
func Command(tb testing.TB) string {
	tb.Helper()
	binary, err := exec.LookPath(cmp.Or(os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform"))
	if err != nil {
		tb.Skip("no terraform on PATH")
	}
	return binary
}

// Build builds a program of this module into a new folder, under Program's name.
func Build(tb testing.TB, pkg string) (dir string) {
	tb.Helper()
	dir = tb.TempDir()
	Run(tb, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, Program), pkg)
	return dir
}

// Overrides is the environment that makes the command line use the provider in dir.
// It needs no init then. What the provider keeps in its user's own folder is the test's.
func Overrides(tb testing.TB, dir string) []string {
	tb.Helper()
	settings := filepath.Join(tb.TempDir(), "cli.tfrc")
	text := "provider_installation {\n  dev_overrides {\n    \"" + Address + "\" = \"" + filepath.ToSlash(dir) + "\"\n  }\n  direct {}\n}\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return []string{"TF_CLI_CONFIG_FILE=" + settings, "XDG_STATE_HOME=" + tb.TempDir()}
}

// Run runs a command to a good end. What it prints is dropped but for what went
// wrong.
func Run(tb testing.TB, env []string, name string, args ...string) *os.ProcessState {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(cmd.Environ(), env...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%v: %v\n%s", cmd.Args, err, complaints.Bytes()[:min(complaints.Len(), 2000)])
	}
	return cmd.ProcessState
}
