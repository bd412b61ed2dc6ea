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

// gVisor is attacked in internal/conformance/mutants, for the page it writes.
func TestBackendConformsOnBubblewrap(t *testing.T) { //nolint:paralleltest // bombs would slow others down
	if _, err := exec.LookPath("bwrap"); err != nil {
		missing(t, "bubblewrap")
	}
	conforms(t, process.Config{}, nil)
}

func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal("this machine lacks " + what)
	}
	t.Skip("this machine lacks " + what)
}

// conforms runs every suite.
func conforms(t *testing.T, config process.Config, except map[string]string) {
	t.Helper()
	config.MemoryBytes, config.Processes = 256<<20, 128
	config.WorkBytes, config.TmpBytes, config.SharedBytes = 32<<20, 16<<20, 8<<20
	config.StateDir = filepath.Join(t.TempDir(), "state")
	if os.Geteuid() == 0 {
		config.Users = process.Users{First: 2_110_000_000 + uint32(os.Getpid()%10_000)*100, Count: 100}
	}
	egress := sandboxtest.NewEgress(t)
	egress.EndProxy = sandboxtest.EndSockets("sandbox-egress-", config.StateDir)
	config.Egress = process.EgressConfig{
		Resolver: egress.World, RootsPEM: egress.World.RootPEM(), Connect: egress.World.Connect, Observer: egress.Observed.Of,
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
	// Without a cgroup there is no bound on what many processes hold together, or on
	// files without content; the rung says so.
	bounds := sandboxtest.Bounds{Processes: config.Processes, StorageBytes: config.WorkBytes}
	if d := b.Declarations(); d.Isolation >= sandbox.IsolationContainer {
		bounds.MemoryBytes, bounds.Files = config.MemoryBytes, config.MemoryBytes/512
	}
	requires := *b.Declarations().Capabilities
	sandboxtest.Run(t, sandboxtest.Subject{
		Name: process.Name, Backend: b,
		Spec:   sandbox.Spec{Kind: "probe", Requires: &requires, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
		Left:   sandboxtest.MachineHolds("sandbox-host-"),
		Bounds: bounds, Except: except, Egress: egress,
	})
}

// The same suites, through files of a guest's root.
func TestBackendConformsWhereGuestsHaveARoot(t *testing.T) { //nolint:paralleltest // bombs would slow others down
	if _, err := exec.LookPath("bwrap"); err != nil {
		missing(t, "bubblewrap")
	}
	conforms(t, process.Config{Images: func(context.Context, sandbox.Image) (process.Image, error) {
		return process.Image{Machine: true}, nil
	}}, map[string]string{
		"BOUNDARY/no-capabilities":           "programs are root of their own user namespace",
		"BOUNDARY/no-way-to-gain-privileges": "the number that its root has outside of the inner namespace of two is 0 too",
		"BOUNDARY/the-system-is-read-only":   "all but what is shown of the machine is its root's",
	})
}
