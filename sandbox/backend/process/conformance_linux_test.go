package process_test

import (
	"context"
	"os"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestBackendConforms(t *testing.T) {
	config := process.Config{
		MemoryBytes: 256 << 20, Processes: 128, WorkBytes: 32 << 20, TmpBytes: 16 << 20, SharedBytes: 8 << 20,
		StateDir: t.TempDir() + "/state",
	}
	if os.Geteuid() == 0 {
		config.Users = process.Users{First: 1_900_000_000, Count: 100}
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
	requires := *b.Declarations().Capabilities
	sandboxtest.Run(t, sandboxtest.Subject{
		Backend: b,
		Spec:    sandbox.Spec{Kind: "probe", Requires: &requires, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
		Left:    sandboxtest.MachineHolds("sandbox-host-"),
		Bounds: sandboxtest.Bounds{
			MemoryBytes: config.MemoryBytes, Processes: config.Processes, StorageBytes: config.WorkBytes,
			Files: config.MemoryBytes / 512,
		},
	})
}
