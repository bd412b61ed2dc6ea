//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// others lists the processes that are not this one, parent and init included. In
// the process namespace of whoever attacks, which is all of a machine's, it is the
// parent alone: that it is in reach is enough to know, and the rest are strangers.
func others(args []string) []int {
	if sharesProcesses(args) {
		return []int{os.Getppid()}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

func name(pid int) string {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return strconv.Itoa(pid)
	}
	return strconv.Itoa(pid) + " " + strings.TrimSpace(string(comm))
}

// processes reaches every process that is neither the guest's init nor whoever
// started this one.
func processes(args []string) answer {
	var a answer
	if _, err := os.Stat("/proc/self"); err == nil {
		a.Tried = 1
	}
	for _, pid := range others(args) {
		if pid != 1 && pid != os.Getppid() || sharesProcesses(args) {
			a.reach("process %s", name(pid))
		}
	}
	return a
}

// environ reads the environment of every other process. An empty one tells
// nothing.
func environ(args []string) answer {
	var a answer
	for _, pid := range others(args) {
		a.Tried++
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && len(data) > 0 {
			a.reach("%d bytes of process %s", len(data), name(pid))
		}
	}
	return a
}

// descriptors opens whatever every other process has open, in each way there is.
func descriptors(args []string) answer {
	var a answer
	for _, pid := range others(args) {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		entries, err := os.ReadDir(dir)
		if err != nil {
			// The directory cannot be listed; its usual names can still be tried.
			entries = nil
			for _, n := range []string{"0", "1", "2", "3", "4", "5", "6"} {
				a.Tried++
				tryDescriptor(&a, pid, filepath.Join(dir, n))
			}
		}
		for _, e := range entries {
			a.Tried++
			tryDescriptor(&a, pid, filepath.Join(dir, e.Name()))
		}
	}
	return a
}

func tryDescriptor(a *answer, pid int, path string) {
	if target, err := os.Readlink(path); err == nil && strings.Contains(target, "watchdog") {
		return // opening one starts it
	}
	for _, mode := range []int{unix.O_RDWR, unix.O_WRONLY, unix.O_RDONLY, unix.O_PATH} {
		fd, err := unix.Open(path, mode|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err == nil {
			_ = unix.Close(fd)
			a.reach("descriptor %s of process %s", filepath.Base(path), name(pid))
			return
		}
	}
}

// memory tries to look into init and into whoever started this process.
func memory(args []string) answer {
	var a answer
	pids := []int{1, os.Getppid()}
	if sharesProcesses(args) {
		pids = pids[1:]
	}
	for _, pid := range pids {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
		a.try("the memory file of process "+name(pid), err)
		if err == nil {
			f.Close()
		}
		_, err = os.ReadDir(fmt.Sprintf("/proc/%d/map_files", pid))
		a.try("the mapped files of process "+name(pid), err)
		_, err = os.Readlink(fmt.Sprintf("/proc/%d/root", pid))
		a.try("the root directory of process "+name(pid), err)
		a.try("process "+name(pid)+" under trace", seize(pid))
	}
	return a
}

// seize attaches to a process without stopping it; the attachment ends with the
// thread that made it, and that with this process.
func seize(pid int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const ptraceSeize = 0x4206
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, ptraceSeize, uintptr(pid), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
