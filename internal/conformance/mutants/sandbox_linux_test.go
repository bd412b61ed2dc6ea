package mutants_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
)

// config is a process backend with small bounds.
func config(t *testing.T) process.Config {
	t.Helper()
	needs(t, "bwrap")
	c := process.Config{
		MemoryBytes: 256 << 20, Processes: 128, WorkBytes: 32 << 20, TmpBytes: 16 << 20, SharedBytes: 8 << 20,
		StateDir: filepath.Join(t.TempDir(), "state"),
	}
	if os.Geteuid() == 0 {
		c.Users = process.Users{First: 1_800_000_000, Count: 100}
	}
	return c
}

// needs skips, and fails where nobody may skip.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: this must be part of the machine", err)
		}
		t.Skip(err)
	}
}

// overProcess is the subject of a process backend, whose engine may be wrapped.
func overProcess(t *testing.T, c process.Config, wrapGuest func(e *process.Engine) *wraps) conformance.Subject {
	t.Helper()
	e, declarations, err := process.NewEngine(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	w := &wraps{Engine: e}
	if wrapGuest != nil {
		w = wrapGuest(e)
	}
	remembering := &remembers{Engine: w}
	b, err := backend.New(remembering, declarations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return conformance.Subject{
		Backend: b, Reclaim: remembering.reclaim, Left: conformance.MachineHolds("sandbox-host-"),
		Spec: sandbox.Spec{Kind: "probe", Requires: declarations.Capabilities, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
		Bounds: conformance.Bounds{
			MemoryBytes: c.MemoryBytes, Processes: c.Processes, StorageBytes: c.WorkBytes, Files: c.MemoryBytes / 512,
		},
	}
}

// TestEveryWallThatIsTakenDownIsNoticed runs the suites in sandboxes that bubblewrap
// builds with one thing missing.
func TestEveryWallThatIsTakenDownIsNoticed(t *testing.T) {
	t.Parallel()
	wall := func(name, by, change string, only ...string) mutant {
		return mutant{name: name, by: by, only: append(only, "BOUNDARY"), make: func(t *testing.T) conformance.Subject {
			c := config(t)
			c.Bubblewrap = standInFor(t, change)
			subject := overProcess(t, c, nil)
			// The backend tries at its start what the machine gives, and would see.
			if err := os.WriteFile(filepath.Join(filepath.Dir(c.Bubblewrap), armed), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return subject
		}}
	}
	hunt(t, "sandbox", []mutant{
		wall("the network is the machine's", "BOUNDARY/nothing-answers-on-a-network", "shared-network"),
		wall("processes are the machine's", "BOUNDARY/no-other-process-is-visible", "shared-processes"),
		wall("no seccomp filter", "BOUNDARY/socket-families-are-an-allowlist", "no-seccomp"),
		wall("user namespaces are allowed", "BOUNDARY/no-new-namespaces", "user-namespaces"),
		wall("the agent is not process 1", "BOUNDARY/no-other-process-is-visible", "not-pid-1"),
		wall("the whole file system is shown", "BOUNDARY/host-files-are-out-of-sight", "whole-system"),
		wall("/tmp is the machine's", "BOUNDARY/host-files-are-out-of-sight", "shared-tmp", "NOTHING_LEFT_BEHIND"),
		wall("devices are the machine's", "BOUNDARY/no-devices-beyond-the-harmless", "all-devices"),
		wall("the kernel's files are shown", "BOUNDARY/the-kernel-shows-and-takes-nothing", "kernel-files"),
		wall("the environment is inherited", "BOUNDARY/init-environ-unreadable", "inherits-environment", "EXEC"),
	}, nil)
}

// standInFor puts a copy of this program where a sandbox's user can run it, under a
// name that says how it changes bubblewrap's command line.
func standInFor(t *testing.T, change string) string {
	t.Helper()
	if bubblewraps[change] == nil {
		t.Fatalf("nothing is called %s", change)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, standIn+change)
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
