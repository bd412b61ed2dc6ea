package gvisor

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Bundle says what one sandbox is made of. Everything that bounds it must be
// stated: a zero is refused, never "no limit".
type Bundle struct {
	// Root is the host directory that becomes the guest's read-only root. The
	// mount points of Views and Scratch exist in it.
	Root string
	// Views are host files and directories shown read-only.
	Views []View
	// Scratch are the only places the guest can write to. They live in the
	// memory of the sandbox.
	Scratch []Scratch
	// Args is the command line of process 1; its environment is empty.
	Args []string
	// UID and GID are the guest's only user. They exist inside gVisor's kernel
	// and need not exist on the host; neither is 0.
	UID, GID uint32
	// WorkDir is where process 1 starts, absolute.
	WorkDir  string
	Hostname string
	Limits   Limits
	// Seccomp is what gVisor's kernel applies to every process of the guest,
	// beside the filter that the host's kernel applies to gVisor.
	Seccomp *specs.LinuxSeccomp
}

// Limits are what gVisor's kernel holds its processes to, and none can raise.
type Limits struct {
	// Processes bounds processes and threads together. They are counted by user,
	// and the sandbox has one, so that it bounds the sandbox.
	Processes int64
	// FileBytes bounds one file, OpenFiles the descriptors of one process. Memory
	// is bounded from outside, by the cgroup that all of gVisor is in.
	FileBytes, OpenFiles int64
}

// HostProcesses is how many processes and threads of the host a sandbox with so
// many of its own takes at most: gVisor's kernel has two for each, which may be
// just ending as others begin, beside what it and its file server run on.
func HostProcesses(guest int64) int64 { return 4*guest + 256 }

// View is a host path that the guest sees, read-only.
type View struct {
	Source      string // on the host, absolute, no symbolic link
	Destination string // in the guest, absolute and clean
}

// Scratch is a file system in memory.
type Scratch struct {
	Destination string // in the guest, absolute and clean
	Bytes       int64  // what fits into it
	Mode        uint32 // permissions of its root, which belongs to the guest's user
}

// Spec is the bundle in the notation of the OCI runtime specification.
func (b Bundle) Spec() (*specs.Spec, error) {
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("describe a sandbox to gVisor: %w", err)
	}
	return &specs.Spec{
		Version:  specs.Version,
		Hostname: b.Hostname,
		Root:     &specs.Root{Path: b.Root, Readonly: true},
		Process: &specs.Process{
			User:            specs.User{UID: b.UID, GID: b.GID},
			Args:            b.Args,
			Env:             []string{},
			Cwd:             b.WorkDir,
			Capabilities:    &specs.LinuxCapabilities{}, // none, in every set
			NoNewPrivileges: true,
			Rlimits: []specs.POSIXRlimit{
				rlimit("RLIMIT_CORE", 0),
				rlimit("RLIMIT_FSIZE", b.Limits.FileBytes),
				rlimit("RLIMIT_NOFILE", b.Limits.OpenFiles),
				rlimit("RLIMIT_NPROC", b.Limits.Processes),
			},
		},
		Mounts: b.mounts(),
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace},
				{Type: specs.NetworkNamespace},
				{Type: specs.IPCNamespace},
				{Type: specs.UTSNamespace},
				{Type: specs.MountNamespace},
			},
			Seccomp: b.Seccomp,
		},
	}, nil
}

func rlimit(name string, n int64) specs.POSIXRlimit {
	return specs.POSIXRlimit{Type: name, Hard: uint64(n), Soft: uint64(n)}
}

func (b Bundle) mounts() []specs.Mount {
	// gVisor's own, which it mounts writable where they are not named, and /sys,
	// which names the machine and is covered.
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"ro", "nosuid", "nodev", "noexec"}},
		{Destination: "/sys", Type: "tmpfs", Source: "tmpfs", Options: []string{"ro", "nosuid", "nodev", "noexec", "size=4096", "mode=555"}},
		{Destination: "/dev", Type: "dev", Source: "dev", Options: []string{"ro", "nosuid", "noexec"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"ro", "nosuid", "noexec"}},
	}
	for _, v := range b.Views {
		mounts = append(mounts, specs.Mount{
			Destination: v.Destination, Type: "bind", Source: v.Source,
			Options: []string{"bind", "ro", "nosuid", "nodev"},
		})
	}
	for _, s := range b.Scratch {
		mounts = append(mounts, specs.Mount{
			Destination: s.Destination, Type: "tmpfs", Source: "tmpfs",
			Options: []string{
				"nosuid", "nodev",
				"size=" + strconv.FormatInt(s.Bytes, 10), "mode=" + strconv.FormatUint(uint64(s.Mode), 8),
				"uid=" + strconv.FormatUint(uint64(b.UID), 10), "gid=" + strconv.FormatUint(uint64(b.GID), 10),
			},
		})
	}
	// A mount covers what was mounted below it before.
	slices.SortStableFunc(mounts, func(x, y specs.Mount) int {
		return depth(x.Destination) - depth(y.Destination)
	})
	return mounts
}

func depth(p string) (n int) {
	for ; p != "/"; p = path.Dir(p) {
		n++
	}
	return n
}

func (b Bundle) check() error {
	var errs []error
	require := func(ok bool, says string) {
		if !ok {
			errs = append(errs, errors.New(says))
		}
	}
	require(isClean(b.Root) && b.Root != "/", "the root is not a directory of its own")
	require(len(b.Args) > 0, "no program")
	require(b.UID != 0 && b.GID != 0, "the guest would be root")
	require(isClean(b.WorkDir), "the working directory is not absolute")
	require(b.Hostname != "", "no host name")
	require(b.Limits.Processes > 0, "processes are not bounded")
	require(b.Limits.FileBytes > 0, "files are not bounded")
	require(b.Limits.OpenFiles > 0, "open files are not bounded")
	require(b.Seccomp != nil, "no seccomp filter")

	taken := map[string]bool{"/": true, "/proc": true, "/dev": true, "/dev/pts": true, "/sys": true}
	place := func(destination string) {
		require(isClean(destination), "a mount point is not absolute")
		require(!taken[destination], "a mount point is used twice, or is gVisor's own")
		taken[destination] = true
	}
	for _, v := range b.Views {
		require(isClean(v.Source) && v.Source != "/", "what is shown is not one file or directory of the host")
		place(v.Destination)
	}
	for _, s := range b.Scratch {
		require(s.Bytes > 0, "a file system in memory is not bounded")
		require(s.Mode != 0 && s.Mode&^0o1777 == 0, "a file system in memory has no usable mode")
		place(s.Destination)
	}
	// gVisor mounts an unbounded one of its own where nothing else is mounted.
	require(taken["/tmp"], "/tmp is not bounded")
	return errors.Join(errs...)
}

func isClean(p string) bool { return filepath.IsAbs(p) && filepath.Clean(p) == p }
