//go:build linux

package main

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sharesProcesses reports whether this process is in the process namespace that
// args[0] names: its caller's own. What could hurt others is not done there.
func sharesProcesses(args []string) bool {
	if len(args) == 0 || args[0] == "" {
		return true // nobody said, and everybody would be hit
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && own == args[0]
}

// targets are the processes that hold the sandbox together, as far as they can be
// named from within.
func targets() []int {
	pids := []int{1}
	if parent := os.Getppid(); parent > 1 {
		pids = append(pids, parent)
	}
	return pids
}

// signals sends every signal three times to init and to whoever started this
// process, then one to everybody. Whether they still stand is the caller's to see.
func signals(args []string) answer {
	var a answer
	if sharesProcesses(args) {
		a.Tried = 1
		a.reach("the host's own processes: nothing was sent")
		return a
	}
	for range 3 {
		for s := 1; s <= 64; s++ {
			for _, pid := range targets() {
				_ = syscall.Kill(pid, syscall.Signal(s))
				a.Tried++
			}
		}
	}
	_ = syscall.Kill(-1, syscall.SIGCONT)
	_ = syscall.Kill(-1, syscall.SIGKILL)
	return a
}

// tamper changes the limits and the scheduling of init and of whoever started this
// process.
func tamper(args []string) answer {
	var a answer
	if sharesProcesses(args) {
		a.Tried = 1
		a.reach("the host's own processes: nothing was changed")
		return a
	}
	for _, pid := range targets() {
		of := " of process " + name(pid)
		limit := unix.Rlimit{Cur: 0, Max: 0}
		a.try("the open files"+of, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil))
		var old unix.Rlimit
		a.try("a look at the limits"+of, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old))
		a.try("the priority"+of, unix.Setpriority(unix.PRIO_PROCESS, pid, 19))
		a.try("the io priority"+of, ioPriority(pid))
		var cpu unix.CPUSet
		cpu.Set(0)
		a.try("the processors"+of, unix.SchedSetaffinity(pid, &cpu))
		a.try("the scheduler"+of, scheduler(pid))
		a.try("the scheduling attributes"+of, attributes(pid))
		score, err := os.OpenFile("/proc/"+itoa(pid)+"/oom_score_adj", os.O_WRONLY, 0)
		a.try("the out-of-memory score"+of, err)
		if err == nil {
			score.Close()
		}
	}
	a.try("the priority of everybody of this user", unix.Setpriority(unix.PRIO_USER, 0, 19))
	return a
}

func failed(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func ioPriority(pid int) error {
	const process, idle = 1, 3 << 13
	_, _, errno := syscall.Syscall(unix.SYS_IOPRIO_SET, process, uintptr(pid), idle)
	return failed(errno)
}

func scheduler(pid int) error {
	const idle = 5
	var priority int32
	_, _, errno := syscall.Syscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), idle, uintptr(unsafe.Pointer(&priority)))
	return failed(errno)
}

func attributes(pid int) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 5}
	return unix.SchedSetAttr(pid, &attr, 0)
}

// chrootChild runs a child in another root directory. A place where it cannot run
// is enough: what is asked is whether the kernel lets it go there.
func chrootChild(dir string) error {
	child := exec.Command("/proc/self/exe", "nothing") //nolint:noctx // it ends at once
	child.SysProcAttr = &syscall.SysProcAttr{Chroot: dir}
	err := child.Run()
	if os.IsNotExist(err) {
		return nil // it got there and found nothing
	}
	return err
}
