// Package process runs programs of this Linux machine in sandboxes made of
// namespaces, a seccomp filter and a cgroup, built by bubblewrap: isolation rung
// container where a probe shows all of that, os_process where something is
// missing. There is no network; a sandbox with an allowlist speaks to a proxy of its
// own in this process, see [EgressConfig]. A sandbox takes some ten milliseconds to
// make and a program in it under one to start.
//
// Programs see this machine's /usr and next to nothing else, or a root file
// system that is given; they write to memory only. A sandbox lives until it is
// deleted, its agent is lost or this process ends, however it ends.
//
// Read [Config], then [New]. What a machine can promise, and why, is [Probe]'s to
// say.
package process

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Name is the backend's name.
const Name = "process"

// Config configures the backend. The zero value is complete, except for a host
// that runs as root, which must name Users.
type Config struct {
	// Users are whom sandboxes run as when this process is root: unprivileged
	// users of the machine that own nothing and run nothing else. With more than
	// one, each sandbox has one for itself. A process that is not root runs
	// sandboxes as itself and must leave this out.
	Users Users

	// RootFS is a directory with the file system that programs see; empty is this
	// machine's own /usr. Show are further directories of this machine, which
	// programs can read at the same place. Neither may hold sockets or named pipes.
	RootFS string
	Show   []string

	// Images gives each sandbox a root of its own, and says what it is made from;
	// see [Image] and [RootGuest]. Without it sandboxes are one user, and are not
	// made from images. A sandbox whose programs run as somebody else takes two of
	// Users. Its root file system is in memory, of WorkBytes and TmpBytes together,
	// with the work directory and /tmp in it.
	Images Images

	// MemoryBytes bounds all memory of a sandbox, its files included; 0 is 1 GiB.
	// Processes bounds its processes and threads; 0 is 256. CPUPercent bounds its
	// processor time, 100 for one processor; 0 is no bound.
	MemoryBytes int64
	Processes   int64
	CPUPercent  int64
	// WorkBytes, TmpBytes and SharedBytes bound its work directory, /tmp and
	// /dev/shm; 0 is 256, 128 and 64 MiB. Together they stay below MemoryBytes.
	WorkBytes, TmpBytes, SharedBytes int64

	// Egress is how sandboxes with an allowlist reach what is on it.
	Egress EgressConfig

	// Runtime is what sandboxes are built with; empty is bubblewrap.
	Runtime Runtime
	// Bubblewrap is the program's path; empty looks for bwrap in PATH. Runsc is
	// gVisor's, which is looked for likewise.
	Bubblewrap, Runsc string
	// Cgroup names the cgroup below which sandboxes have theirs, as
	// /proc/self/cgroup would; empty is this process's own.
	Cgroup string
	// StateDir is where hosts note what they made, so that the next one can clean
	// up after one that was killed. Hosts that share it share Users. It must be
	// private: of this user, mode 0700 or, so that a root host's sandboxes can share
	// the agent instead of copying it, 0711. Nobody but this user and root may be
	// able to rename it or a directory above it, and no sandbox sees it. Empty is a
	// directory below XDG_RUNTIME_DIR, if that is this user's, or the directory for
	// temporary files.
	StateDir string

	// Notice is told what a person may want to know, such as what was cleaned up
	// after another host. It may be nil, and is called from any goroutine.
	Notice func(text string)
}

// Runtime is what builds sandboxes.
type Runtime string

const (
	// RuntimeBubblewrap builds namespaces around programs, which speak to this
	// machine's kernel through a filter.
	RuntimeBubblewrap Runtime = "bwrap"
	// RuntimeGVisor gives programs a kernel of their own, gVisor: isolation rung
	// hardened_container, shown by a probe or else refused. A sandbox takes a
	// quarter of a second to make and some 80 MiB of its memory.
	RuntimeGVisor Runtime = "runsc"
)

// Users is a range of numeric user ids. Groups have the same numbers.
type Users struct{ First, Count uint32 }

const (
	defaultMemory    = 1 << 30
	defaultProcesses = 256
	defaultWork      = 256 << 20
	defaultTmp       = 128 << 20
	defaultShared    = 64 << 20

	// leastMemory is what the agent and the programs that build a sandbox need.
	leastMemory = 32 << 20
	// leastMemoryGVisor is what gVisor's kernel and its file server need with them.
	leastMemoryGVisor = 128 << 20
	// leastProcesses leaves the agent its threads and the guest a few.
	leastProcesses = 64
)

// Declarations are what any machine on which the backend agrees to start can
// promise: the facts that a plan decides with when it is given no probed ones.
func Declarations() sandbox.Declarations {
	// The zero value of an unknown name would claim nothing and be refused by New.
	d, _ := facts.Lookup(Name)
	return d
}

// DefaultBounds is the configuration that the zero value stands for, bounds alone.
func DefaultBounds() Config {
	return Config{
		MemoryBytes: defaultMemory, Processes: defaultProcesses,
		WorkBytes: defaultWork, TmpBytes: defaultTmp, SharedBytes: defaultShared,
	}
}

// withDefaults fills in what is left out and checks every bound.
func (c Config) withDefaults() (Config, error) {
	for _, bound := range []struct {
		name     string
		value    *int64
		standard int64
		least    int64
		most     int64
	}{
		{"MemoryBytes", &c.MemoryBytes, defaultMemory, c.leastMemory(), math.MaxInt64 / 4},
		{"Processes", &c.Processes, defaultProcesses, leastProcesses, 1 << 22},
		{"CPUPercent", &c.CPUPercent, 0, 0, 1 << 20},
		{"WorkBytes", &c.WorkBytes, defaultWork, 4096, math.MaxInt64 / 16},
		{"TmpBytes", &c.TmpBytes, defaultTmp, 4096, math.MaxInt64 / 16},
		{"SharedBytes", &c.SharedBytes, defaultShared, 4096, math.MaxInt64 / 16},
	} {
		if *bound.value == 0 {
			*bound.value = bound.standard
		}
		if *bound.value < bound.least || *bound.value > bound.most {
			return c, sandbox.Finding{
				Code:     sandbox.CodeOutOfRange,
				Path:     sandbox.Path(bound.name),
				Found:    fmt.Sprint(*bound.value),
				Required: fmt.Sprintf("from %d to %d, or 0 for the default", bound.least, bound.most),
				Remedy:   "change the process backend's configuration",
			}.Refusal(nil)
		}
	}
	if c.Runtime == "" {
		c.Runtime = RuntimeBubblewrap
	}
	if c.Runtime != RuntimeBubblewrap && c.Runtime != RuntimeGVisor {
		return c, sandbox.Finding{
			Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("Runtime"), Found: sandbox.Echo(string(c.Runtime)),
			Required: string(RuntimeBubblewrap) + " or " + string(RuntimeGVisor), Remedy: "name one of them, or leave it empty",
		}.Refusal(nil)
	}
	if total := c.sizes().Total(); total >= c.MemoryBytes {
		return c, sandbox.Finding{
			Code:     sandbox.CodeContradiction,
			Path:     sandbox.Path("MemoryBytes"),
			Found:    fmt.Sprintf("%d bytes of memory, and %d bytes of files in it", c.MemoryBytes, total),
			Required: "more memory than WorkBytes, TmpBytes and SharedBytes together",
			Remedy:   "raise MemoryBytes, or lower the sizes",
		}.Refusal(nil)
	}
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	return c, errors.Join(c.checkImages(), c.checkPaths())
}

// leastMemory is what a sandbox needs for itself.
func (c Config) leastMemory() int64 {
	if c.Runtime == RuntimeGVisor {
		return leastMemoryGVisor
	}
	return leastMemory
}

func (c Config) sizes() view.Sizes {
	return view.Sizes{WorkBytes: c.WorkBytes, TmpBytes: c.TmpBytes, SharedBytes: c.SharedBytes}
}

// checkPaths refuses paths that depend on where this process stands.
func (c Config) checkPaths() error {
	for _, path := range []struct{ name, value string }{
		{"Cgroup", c.Cgroup}, {"StateDir", c.StateDir}, {"Bubblewrap", c.Bubblewrap}, {"Runsc", c.Runsc},
	} {
		if path.value != "" && (!filepath.IsAbs(path.value) || filepath.Clean(path.value) != path.value) {
			return sandbox.Finding{
				Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path(path.name), Found: sandbox.Echo(path.value),
				Required: "an absolute path without . or ..", Remedy: "write it out, or leave it empty for the default",
			}.Refusal(nil)
		}
	}
	return nil
}
