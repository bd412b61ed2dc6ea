package process_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestGVisorBackendConforms(t *testing.T) {
	t.Parallel()
	config := process.Config{
		StateDir: filepath.Join(t.TempDir(), "state"), Runtime: process.RuntimeGVisor, Runsc: os.Getenv("SANDBOX_TEST_RUNSC"),
	}
	if _, err := exec.LookPath("runsc"); err != nil && config.Runsc == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("this machine lacks gVisor's runsc")
		}
		t.Skip("this machine lacks gVisor's runsc (make runsc; make test then finds it)")
	}
	if os.Geteuid() == 0 {
		config.Users = process.Users{First: 2_120_000_000 + uint32(os.Getpid()%10_000)*100, Count: 100}
	}
	b, err := process.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	requires := *process.Declarations().Capabilities
	sandboxtest.Run(t, sandboxtest.Subject{
		Name: process.Name, Backend: b,
		Spec: sandbox.Spec{Kind: "shell", Requires: &requires, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
	})
}
