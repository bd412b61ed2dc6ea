//go:build linux

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mounts changes what is mounted, and takes each change back at once.
func mounts([]string) answer {
	var a answer
	dir, err := os.MkdirTemp("", "mount")
	if err != nil {
		if dir, err = os.MkdirTemp(".", "mount"); err != nil {
			a.Note = err.Error()
			return a
		}
	}
	// Not RemoveAll: were a view of / still there, it would remove that.
	defer os.Remove(dir) //nolint:errcheck // an empty directory left behind goes with the sandbox
	for _, m := range []struct {
		what, source, kind string
		flags              uintptr
		data               string
	}{
		{"a new file system", "tmpfs", "tmpfs", 0, "size=4k"},
		{"a second view of /", "/", "", unix.MS_BIND, ""},
		{"a new /proc", "proc", "proc", 0, ""},
		{"a changed mount", "", "", unix.MS_REMOUNT | unix.MS_BIND, ""},
	} {
		err := unix.Mount(m.source, dir, m.kind, m.flags, m.data)
		a.try(m.what, err)
		if err == nil {
			_ = unix.Unmount(dir, unix.MNT_DETACH) // it was ours
		}
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	a.try("a copy of the mounts", err)
	if err == nil {
		_ = unix.Close(fd)
	}
	a.try("another root directory", chrootChild(dir))
	return a
}

// system writes where the system's own files are.
func system([]string) answer {
	var a answer
	for _, dir := range []string{"/usr", "/usr/bin", "/usr/lib", "/usr/local", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/boot", "/opt"} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		path := filepath.Join(dir, "sandbox-conformance-"+itoa(os.Getpid()))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		a.try("a new file in "+dir, err)
		if err == nil {
			f.Close()
			_ = os.Remove(path)
		}
	}
	for _, path := range []string{"/etc/passwd", "/etc/ld.so.cache", "/etc/hosts", "/etc/resolv.conf", "/usr/bin/env", "/bin/sh"} {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		a.try("writing to "+path, err)
		if err == nil {
			f.Close()
		}
	}
	return a
}

// harmlessDevices may be opened by anybody.
var harmlessDevices = []string{
	"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console", "stdin", "stdout", "stderr", "core", "fd",
}

// devices opens every device, and makes its own. In the process namespace of
// whoever attacks, which has a machine's devices, one stands for all: opening a
// stranger's terminal may hang it up.
func devices(args []string) answer {
	var a answer
	a.Tried = 1
	shared := sharesProcesses(args)
	walk([]string{"/dev"}, func(path string, info fs.FileInfo) {
		name := strings.TrimPrefix(path, "/dev/")
		if shared && name != "loop-control" && name != "kmsg" && name != "fuse" {
			return
		}
		if info.Mode()&fs.ModeDevice == 0 || slices.Contains(harmlessDevices, name) || strings.HasPrefix(name, "pts/") || strings.Contains(name, "watchdog") {
			return
		}
		a.Tried++
		for _, mode := range []int{unix.O_RDWR, unix.O_RDONLY, unix.O_WRONLY} {
			if fd, err := unix.Open(path, mode|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
				_ = unix.Close(fd)
				a.reach("%s", path)
				return
			}
		}
	})
	for _, dir := range []string{".", "/tmp", "/dev", "/dev/shm"} {
		for word, node := range map[string]struct {
			mode   uint32
			device int
		}{"the memory of the machine": {unix.S_IFCHR | 0o600, 1<<8 | 1}, "a disk": {unix.S_IFBLK | 0o600, 259 << 8}, "the random source": {unix.S_IFCHR | 0o600, 1<<8 | 9}} {
			path := filepath.Join(dir, "sandbox-conformance-node")
			err := unix.Mknod(path, node.mode, node.device)
			a.try("a device of its own in "+dir+": "+word, err)
			if err == nil {
				_ = os.Remove(path)
			}
		}
	}
	return a
}

// kernel opens what the kernel shows of the machine and lets root change.
func kernel([]string) answer {
	var a answer
	for _, path := range []string{
		"/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/sched_debug", "/proc/timer_list", "/proc/vmallocinfo",
		"/proc/slabinfo", "/proc/kpagecount", "/proc/kpageflags", "/dev/kmsg", "/dev/mem", "/sys/kernel/debug", "/sys/kernel/tracing",
		"/sys/kernel/security", "/sys/firmware/efi", "/sys/firmware/dmi/tables", "/proc/1/stack", "/proc/1/syscall",
	} {
		a.Tried++
		if shows(path) {
			a.reach("%s", path)
		}
	}
	addresses(&a)
	for _, path := range []string{
		"/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
		"/proc/sys/kernel/pid_max", "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/drop_caches", "/proc/sys/fs/file-max",
		"/proc/sys/net/ipv4/ip_forward", "/proc/1/oom_score_adj", "/proc/1/mem", "/proc/1/uid_map",
		"/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
		"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/pids/cgroup.procs",
	} {
		a.Tried++
		// Opened only: nothing is written.
		if fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
			_ = unix.Close(fd)
			a.reach("writing to %s", path)
		}
	}
	return a
}

// shows reports whether a place can be opened and tells something. The kernel's log
// is opened and not read: reading it waits, and takes lines from others.
func shows(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if strings.HasSuffix(path, "kmsg") {
		return true
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		entries, err := f.ReadDir(1)
		return err == nil && len(entries) > 0
	}
	var one [1]byte
	n, _ := f.Read(one[:])
	return n > 0
}

// addresses reaches the kernel's own addresses.
func addresses(a *answer) {
	a.Tried++
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return
	}
	defer f.Close()
	var line [16]byte
	if n, _ := f.Read(line[:]); n == len(line) && strings.Trim(string(line[:]), "0") != "" {
		a.reach("addresses of the kernel")
	}
}

// canary reaches what its arguments name: something of the host's that no sandbox
// sees. A socket is connected to, anything else is opened or at least found.
func canary(args []string) answer {
	var a answer
	for _, path := range args {
		a.Tried++
		if info, err := os.Lstat(path); err == nil {
			a.reach("%s (%s)", path, info.Mode())
			continue
		}
		if err := dialUnix(path); err == nil {
			a.reach("the socket %s", path)
		}
	}
	return a
}
