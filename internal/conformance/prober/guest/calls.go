//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// systemCall is one call that no sandboxed program needs. Its arguments are such
// that it fails inside the kernel if it gets there.
type systemCall struct {
	name   string
	number uintptr
	args   [6]uintptr
}

// bad is no descriptor and no address.
const bad = ^uintptr(0)

// forbidden calls reach parts of the kernel that a sandbox keeps programs from.
// None does anything here even for root: descriptors are closed ones, addresses
// are unmapped, sizes are wrong.
func forbidden() []systemCall {
	return append([]systemCall{
		{"bpf", unix.SYS_BPF, [6]uintptr{0, 1, 1 << 20}},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, [6]uintptr{1, 0, bad, bad, 0}},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [6]uintptr{1, 1}},
		{"userfaultfd", unix.SYS_USERFAULTFD, [6]uintptr{0xffff}},
		{"add_key", unix.SYS_ADD_KEY, [6]uintptr{1, 1, 1, 1, 0}},
		{"request_key", unix.SYS_REQUEST_KEY, [6]uintptr{1, 1, 1, 0}},
		{"keyctl", unix.SYS_KEYCTL, [6]uintptr{0, bad - 2, 0}},
		{"init_module", unix.SYS_INIT_MODULE, [6]uintptr{1, 1, 1}},
		{"finit_module", unix.SYS_FINIT_MODULE, [6]uintptr{bad, 1, 0}},
		{"delete_module", unix.SYS_DELETE_MODULE, [6]uintptr{1, 0}},
		{"kexec_load", unix.SYS_KEXEC_LOAD, [6]uintptr{0, 1 << 40, 0, 0}},
		{"reboot", unix.SYS_REBOOT, [6]uintptr{0, 0, 0, 0}},
		{"syslog", unix.SYS_SYSLOG, [6]uintptr{3, 1, bad}},
		{"swapon", unix.SYS_SWAPON, [6]uintptr{1, 0}},
		{"quotactl", unix.SYS_QUOTACTL, [6]uintptr{bad, 1, 0, 1}},
		{"mount", unix.SYS_MOUNT, [6]uintptr{1, 1, 1, 0, 0}},
		{"umount2", unix.SYS_UMOUNT2, [6]uintptr{1, 0}},
		{"pivot_root", unix.SYS_PIVOT_ROOT, [6]uintptr{1, 1}},
		{"open_tree", unix.SYS_OPEN_TREE, [6]uintptr{bad, 1, 0}},
		{"move_mount", unix.SYS_MOVE_MOUNT, [6]uintptr{bad, 1, bad, 1, 0}},
		{"fsopen", unix.SYS_FSOPEN, [6]uintptr{1, 0}},
		{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, [6]uintptr{bad, 1, 0}},
		{"fanotify_init", unix.SYS_FANOTIFY_INIT, [6]uintptr{0xffffff, 0}},
		{"acct", unix.SYS_ACCT, [6]uintptr{1}},
		{"setns", unix.SYS_SETNS, [6]uintptr{bad, 0}},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, [6]uintptr{uintptr(os.Getppid()), 1, 1, 1, 1, 0}},
		{"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, [6]uintptr{uintptr(os.Getppid()), 1, 1, 1, 1, 0}},
		{"kcmp", unix.SYS_KCMP, [6]uintptr{uintptr(os.Getppid()), uintptr(os.Getpid()), 0xff, 0, 0}},
		{"pidfd_getfd", unix.SYS_PIDFD_GETFD, [6]uintptr{bad, 0, 0}},
		{"clock_settime", unix.SYS_CLOCK_SETTIME, [6]uintptr{0, 1}},
		{"settimeofday", unix.SYS_SETTIMEOFDAY, [6]uintptr{1, 1}},
		{"migrate_pages", unix.SYS_MIGRATE_PAGES, [6]uintptr{uintptr(os.Getppid()), 64, 1, 1}},
		{"move_pages", unix.SYS_MOVE_PAGES, [6]uintptr{uintptr(os.Getppid()), 1, 1, 1, 1, 0}},
		{"ptrace", unix.SYS_PTRACE, [6]uintptr{0xffff, uintptr(os.Getppid()), 0, 0}},
	}, forbiddenHere()...)
}

// call makes one of the forbidden calls and exits with what came of it: refusedCode
// or reachedCode.
func call(args []string) int {
	if len(args) == 0 {
		return usage
	}
	for _, c := range forbidden() {
		if c.name != args[0] {
			continue
		}
		_, _, errno := syscall.Syscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		switch errno {
		case unix.ENOSYS, unix.EPERM, unix.EACCES:
			return refusedCode
		}
		fmt.Fprintf(os.Stderr, "%v", errno)
		return reachedCode
	}
	return usage
}

const (
	refusedCode = 10
	reachedCode = 11
)

// calls makes each forbidden call in a process of its own: a filter may kill.
func calls([]string) answer {
	var a answer
	for _, c := range forbidden() {
		text, err := exec.Command("/proc/self/exe", "call", c.name).CombinedOutput() //nolint:noctx // it ends at once
		a.Tried++
		var ended *exec.ExitError
		switch {
		case !errors.As(err, &ended):
			a.Tried-- // it did not start
		case ended.ExitCode() == reachedCode:
			a.reach("%s (%s)", c.name, text)
		}
	}
	return a
}

// namespaces makes children in new namespaces and enters those of init.
func namespaces([]string) answer {
	var a answer
	kinds := map[string]uintptr{
		"user": unix.CLONE_NEWUSER, "user and mount": unix.CLONE_NEWUSER | unix.CLONE_NEWNS, "user and network": unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		"mount": unix.CLONE_NEWNS, "process": unix.CLONE_NEWPID, "network": unix.CLONE_NEWNET, "ipc": unix.CLONE_NEWIPC,
		"host name": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME,
	}
	for word, flags := range kinds {
		child := exec.Command("/proc/self/exe", "nothing") //nolint:noctx // it ends at once
		if flags == unix.CLONE_NEWTIME {
			child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: flags}
		} else {
			child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		}
		a.try("a new "+word+" namespace", child.Run())
	}
	for _, kind := range []string{"user", "mnt", "net", "pid", "ipc", "uts", "cgroup"} {
		f, err := os.Open("/proc/1/ns/" + kind)
		if err != nil {
			a.Tried++
			continue
		}
		err = unix.Setns(int(f.Fd()), 0)
		f.Close()
		a.try("the "+kind+" namespace of init", err)
	}
	return a
}

// compat calls the kernel the way programs of other ABIs do. One that kills for it
// has refused, so each is tried in a child.
func compat(args []string) answer {
	if len(args) > 0 {
		if otherABI(args[0]) {
			os.Exit(reachedCode)
		}
		os.Exit(refusedCode)
	}
	var a answer
	for _, abi := range otherABIs {
		err := exec.Command("/proc/self/exe", "compat", abi).Run() //nolint:noctx // it ends at once
		a.Tried++
		var ended *exec.ExitError
		if errors.As(err, &ended) && ended.ExitCode() == reachedCode {
			a.reach("the kernel by %s calls", abi)
		}
	}
	if len(otherABIs) == 0 {
		a.Tried, a.Note = 1, "this processor's programs have one way to call the kernel"
	}
	return a
}

func itoa(n int) string { return strconv.Itoa(n) }
