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

func TestBackendConforms(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bwrap"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("this machine lacks bubblewrap")
		}
		t.Skip("this machine lacks bubblewrap")
	}
	config := process.Config{StateDir: filepath.Join(t.TempDir(), "state")}
	if os.Geteuid() == 0 {
		config.Users = process.Users{First: 2_110_000_000 + uint32(os.Getpid()%10_000)*100, Count: 100}
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
