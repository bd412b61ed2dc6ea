//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// bomb uses up one thing until something stops it, says so by renaming the file
// args[3]+".tmp" to args[3], holds on until its standard input ends, and cleans up.
// args are: what, how many at most, where, that file. Its answer counts how many
// there were; reaching all of them is what nobody should.
//
//	processes N        processes that wait
//	memory N           N times 16 MiB, each in a process of its own
//	files N DIR        empty files
//	bytes N DIR        N MiB in one file
func bomb(args []string) answer {
	var a answer
	if len(args) < 4 {
		return a
	}
	most, dir, ready := number(args, 1, 0), args[2], args[3]
	if err := os.WriteFile(ready+".tmp", nil, 0o644); err != nil {
		a.Note = err.Error()
		return a
	}
	var (
		err   error
		clean func()
	)
	switch args[0] {
	case "processes":
		a.Tried, clean, err = forks(most)
	case "memory":
		a.Tried, clean, err = hoards(most)
	case "files":
		a.Tried, clean, err = fileFlood(most, dir)
	case "bytes":
		a.Tried, clean, err = byteFlood(most, dir)
	default:
		return a
	}
	defer clean()
	if err == nil {
		a.reach("%d of %d", a.Tried, most)
	} else {
		a.Note = fmt.Sprintf("stopped after %d: %v", a.Tried, err)
	}
	if err := os.Rename(ready+".tmp", ready); err != nil {
		a.Note += "; " + err.Error()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return a
}

// forks makes children that do nothing, by bare forks: a program of its own each
// would need more memory than processes.
func forks(most int) (made int, clean func(), err error) {
	var pids []int
	clean = func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
	}
	for range most {
		pid, errno := forkIdle()
		if errno != 0 {
			return len(pids), clean, errno
		}
		pids = append(pids, pid)
	}
	return len(pids), clean, nil
}

// forkIdle forks; the child never returns from here. It does nothing but system
// calls: the runtime is not there for it.
//
//go:norace
func forkIdle() (pid int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || r != 0 {
		return int(r), errno
	}
	syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0)
	for {
		syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

const hoardBytes = 16 << 20

// hoards starts processes that each hold their share of memory.
func hoards(most int) (held int, clean func(), err error) {
	var children []*exec.Cmd
	clean = func() {
		for _, c := range children {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	for range most {
		child := exec.Command("/proc/self/exe", "hoard") //nolint:noctx // killed by clean
		child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := child.StdoutPipe()
		if err != nil {
			return len(children), clean, err
		}
		if err := child.Start(); err != nil {
			return len(children), clean, err
		}
		children = append(children, child)
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "held" {
			return len(children) - 1, clean, fmt.Errorf("a child could not hold its memory: %w", err)
		}
		// The kernel may have taken an earlier one instead.
		for _, c := range children {
			if pid, _ := syscall.Wait4(c.Process.Pid, nil, syscall.WNOHANG, nil); pid != 0 {
				return len(children) - 1, clean, fmt.Errorf("a child lost its memory: %w", syscall.ENOMEM)
			}
		}
	}
	return len(children), clean, nil
}

// hoard holds its share of memory until it is killed.
func hoard([]string) int {
	block, err := unix.Mmap(-1, 0, hoardBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return status(err)
	}
	for i := 0; i < len(block); i += 4096 {
		block[i] = byte(i>>12) | 1
	}
	fmt.Fprintln(os.Stdout, "held")
	return linger(nil)
}

func fileFlood(most int, dir string) (made int, clean func(), err error) {
	flood := filepath.Join(dir, "flood-"+itoa(os.Getpid()))
	clean = func() { _ = os.RemoveAll(flood) }
	if err := os.Mkdir(flood, 0o700); err != nil {
		return 0, clean, err
	}
	for i := range most {
		fd, err := unix.Open(filepath.Join(flood, itoa(i)), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return i, clean, err
		}
		_ = unix.Close(fd)
	}
	return most, clean, nil
}

func byteFlood(most int, dir string) (written int, clean func(), err error) {
	path := filepath.Join(dir, "flood-"+itoa(os.Getpid()))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	clean = func() { _ = os.Remove(path) }
	if err != nil {
		return 0, clean, err
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i) | 1
	}
	for i := range most {
		if _, err := f.Write(block); err != nil {
			return i, clean, err
		}
	}
	return most, clean, nil
}
