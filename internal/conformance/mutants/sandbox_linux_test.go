package mutants_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

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

// onGVisor is the configuration with gVisor's runsc, which make builds and names.
func onGVisor(t *testing.T, c process.Config) process.Config {
	t.Helper()
	c.Runtime, c.Runsc = process.RuntimeGVisor, os.Getenv("SANDBOX_TEST_RUNSC")
	if c.Runsc == "" {
		needs(t, "runsc")
	}
	return c
}

// onGVisorExcept is what gVisor is known not to hold, with the reason that the page
// gives. In all of it a guest only reaches what is its own.
func onGVisorExcept() map[string]string {
	return map[string]string{
		"BOUNDARY/the-agent-survives-every-signal":           "does not hold: gVisor protects no process 1, so a guest can end its own sandbox; the host sees it",
		"BOUNDARY/no-devices-beyond-the-harmless":            "does not hold: /dev/fuse and /dev/net/tun are gVisor's own, with no device of the host behind them",
		"RACES/a-recursive-removal-over-a-swapped-directory": "does not hold: gVisor resolves no path in one step, so a guest can turn a removal on other files of its own",
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
	b, err := backend.New(w, declarations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return conformance.Subject{
		Backend: b, Left: conformance.MachineHolds(mark(t, c)),
		Spec: sandbox.Spec{Kind: "probe", Requires: declarations.Capabilities, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
		Bounds: conformance.Bounds{
			MemoryBytes: c.MemoryBytes, Processes: c.Processes, StorageBytes: c.WorkBytes, Files: c.MemoryBytes / 512,
		},
	}
}

// mark is what the only host of a state directory puts into the names of what it
// makes.
func mark(t *testing.T, c process.Config) string {
	t.Helper()
	hosts, err := filepath.Glob(filepath.Join(c.StateDir, "host-*"))
	if err != nil || len(hosts) != 1 {
		t.Fatalf("hosts %v: %v", hosts, err)
	}
	return "sandbox-" + filepath.Base(hosts[0])
}

// wallMutants are sandboxes that bubblewrap builds with one thing missing.
func wallMutants() []mutant {
	wall := func(name, by, change string, also ...string) mutant {
		return mutant{name: name, by: by, also: also, make: func(t *testing.T) conformance.Subject {
			t.Helper()
			return overStandIn(t, change)
		}}
	}
	return append([]mutant{
		wall("the network is the machine's", "BOUNDARY/nothing-answers-on-a-network", "shared-network"),
		wall("processes are the machine's", "BOUNDARY/no-other-process-is-visible", "shared-processes"),
		wall("no seccomp filter", "BOUNDARY/socket-families-are-an-allowlist", "no-seccomp", "BOUNDARY/calls-that-no-program-needs-are-refused", "BOUNDARY/calls-of-other-abis-are-refused", "BOUNDARY/the-agents-limits-and-scheduling-cannot-be-changed"),
		wall("user namespaces are allowed", "BOUNDARY/no-new-namespaces", "user-namespaces"),
		wall("capabilities are kept", "BOUNDARY/no-capabilities", "capabilities"),
		wall("the agent is not process 1", "BOUNDARY/agent-channel-unreachable", "not-pid-1", "BOUNDARY/agent-memory-unreachable", "BOUNDARY/the-agent-survives-every-signal", "BOUNDARY/the-kernel-shows-and-takes-nothing"),
		wall("the machine's files are shown", "BOUNDARY/host-files-are-out-of-sight", "whole-system"),
		wall("the system can be written to", "BOUNDARY/the-system-is-read-only", "writable-root"),
		wall("the temporary directory is the machine's", "BOUNDARY/host-files-are-out-of-sight", "shared-tmp", "BOUNDARY/host-sockets-are-out-of-reach", "NOTHING_LEFT_BEHIND/another-sandbox-sees-nothing-of-this-one", "NOTHING_LEFT_BEHIND/the-next-sandbox-of-the-key-sees-nothing"),
		wall("a device too many", "BOUNDARY/no-devices-beyond-the-harmless", "device"),
	}, boundMutants()...)
}

// overStandIn is a process backend whose bubblewrap changes something.
func overStandIn(t *testing.T, change string) conformance.Subject {
	t.Helper()
	c := config(t)
	c.Bubblewrap = standInFor(t, change)
	subject := overProcess(t, c, nil)
	if change == "device" {
		if err := unix.Mknod(filepath.Join(filepath.Dir(c.Bubblewrap), "extra"), unix.S_IFCHR|0o666, 1<<8|3); err != nil {
			t.Skip("only root can make a device to show:", err)
		}
	}
	if change == "shared-tmp" {
		t.Cleanup(func() { removeTraces(t) })
	}
	// The backend tries at its start what the machine gives, and would see.
	if err := os.WriteFile(filepath.Join(filepath.Dir(c.Bubblewrap), armed), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return subject
}

// removeTraces takes away what sandboxes left in a directory that was not theirs.
func removeTraces(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob("/tmp/sandbox-conformance-trace-*")
	if err != nil {
		t.Error(err)
	}
	for _, path := range left {
		_ = os.Remove(path) // another user's, where this one is not root
	}
}

// boundMutants hold to less than they say.
func boundMutants() []mutant {
	loose := func(name, by string, change func(*conformance.Bounds)) mutant {
		return mutant{name: name, by: by, make: func(t *testing.T) conformance.Subject {
			t.Helper()
			subject := overProcess(t, config(t), nil)
			var b conformance.Bounds
			change(&b)
			subject.Bounds = b
			return subject
		}}
	}
	processes := loose("more processes than are said", "RESOURCES/a-fork-bomb", func(b *conformance.Bounds) { b.Processes = 32 })
	files := loose("more files than are said", "RESOURCES/files-without-content", func(b *conformance.Bounds) { b.Files = 500 })
	files.also = []string{"RESOURCES/files-in-dev-shm", "RESOURCES/files-in-tmp"}
	bytes := loose("more bytes than are said", "RESOURCES/a-full-disk", func(b *conformance.Bounds) { b.StorageBytes = 3 << 20 })
	bytes.also = []string{"RESOURCES/bytes-in-dev-shm", "RESOURCES/bytes-in-tmp"}
	ungrouped := mutant{name: "no cgroup", by: "RESOURCES/memory-of-many-processes", make: func(t *testing.T) conformance.Subject {
		t.Helper()
		c := config(t)
		c.Cgroup = "/sandbox-conformance-nowhere"
		return overProcess(t, c, nil)
	}}
	devices := mutant{name: "files can be made among the devices", by: "RESOURCES/files-in-dev", make: func(t *testing.T) conformance.Subject {
		t.Helper()
		subject := overStandIn(t, "writable-dev")
		subject.Bounds = conformance.Bounds{Files: 500}
		return subject
	}}
	return []mutant{processes, files, bytes, ungrouped, devices}
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
	// A program that is forked meanwhile would hold the file open for writing, and it
	// could not be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
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
