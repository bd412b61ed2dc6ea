package guestagent_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// runProbe is a guest program, by name. Most attack process 1, which must be the
// agent that started them and never that of the machine.
func runProbe(name string) int {
	switch name {
	case "self":
		return probeSelf()
	case "deep":
		return probeDeep()
	case "swap":
		return probeSwap()
	case "fetch":
		return probeFetch()
	}
	if os.Getppid() != 1 {
		return 3
	}
	switch name {
	case "storm":
		return probeStorm()
	case "channel":
		return probeChannel()
	case "prlimit":
		return probePrlimit()
	}
	return 2
}

// probeSelf says what it finds of itself.
func probeSelf() int {
	for _, arg := range os.Args[1:] {
		fmt.Printf("arg %q\n", arg)
	}
	for _, pair := range os.Environ() {
		fmt.Printf("env %q\n", pair)
	}
	dir, _ := os.Getwd()
	fmt.Printf("dir %q\n", dir)
	stdin, _ := io.ReadAll(os.Stdin)
	fmt.Printf("stdin %q\n", stdin)
	var fds []string
	for fd := range 1024 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && isInherited(fd) {
			fds = append(fds, strconv.Itoa(fd))
		}
	}
	fmt.Println("fds", strings.Join(fds, " "))
	sid, _ := unix.Getsid(0)
	fmt.Println("leader", sid == os.Getpid() && unix.Getpgrp() == os.Getpid())
	fmt.Fprint(os.Stderr, "to stderr\x00")
	return 42
}

// isInherited tells what came over exec from what this runtime opened itself,
// which it closes on exec.
func isInherited(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}

// field is one of /proc/self/status.
func field(status, name string) string {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value)
		}
	}
	return "?"
}

// probeStorm sends process 1 every signal, by kill and by sigqueue, which can
// look like a fault.
func probeStorm() int {
	sent := 0
	for range 3 {
		for sig := unix.Signal(1); sig <= 64; sig++ {
			if unix.Kill(1, sig) == nil {
				sent++
			}
			for _, code := range []int32{-1, -2, -6, -60} { // SI_QUEUE, SI_TIMER, SI_TKILL, none
				if queueSignal(1, sig, code) == nil {
					sent++
				}
			}
		}
	}
	fmt.Println(sent)
	return 0
}

// siginfo is the beginning of the kernel's.
type siginfo struct {
	signo, errno, code int32
	_                  int32
	pid                int32
	uid                uint32
	_                  [104]byte
}

func queueSignal(pid int, sig unix.Signal, code int32) error {
	info := siginfo{signo: int32(sig), code: code, pid: int32(os.Getpid()), uid: uint32(os.Getuid())}
	_, _, errno := syscall.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(sig), uintptr(unsafe.Pointer(&info)))
	if errno != 0 {
		return errno
	}
	return nil
}

// probeChannel tries every way of the same user's to the agent's descriptors and
// memory, and says which worked.
func probeChannel() int {
	var worked []string
	try := func(what string, err error) {
		if err == nil {
			worked = append(worked, what)
		}
	}
	for fd := range 256 {
		f, err := os.OpenFile("/proc/1/fd/"+strconv.Itoa(fd), os.O_RDWR, 0)
		try("fd "+strconv.Itoa(fd), err)
		_ = f.Close()
	}
	for _, name := range []string{"environ", "mem", "maps", "auxv", "syscall", "stack"} {
		_, err := os.ReadFile("/proc/1/" + name)
		try(name, err)
	}
	if os.Getuid() != 0 {
		// The namespace's own root owns the directory and may see its names.
		_, err := os.ReadDir("/proc/1/fd")
		try("list fd", err)
	}
	_, err := os.Readlink("/proc/1/exe")
	try("exe", err)
	runtime.LockOSThread()
	try("ptrace", unix.PtraceAttach(1))
	try("seize", unix.PtraceSeize(1))
	pidfd, err := unix.PidfdOpen(1, 0)
	if err == nil {
		for fd := range 256 {
			_, err := unix.PidfdGetfd(pidfd, fd, 0)
			try("pidfd_getfd "+strconv.Itoa(fd), err)
		}
	}
	var b [8]byte
	_, err = unix.ProcessVMReadv(1, []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	try("process_vm_readv", err)
	slices.Sort(worked)
	fmt.Print(strings.Join(worked, ","))
	return 0
}

// probePrlimit takes from process 1 what it may.
func probePrlimit() int {
	taken := 0
	for _, resource := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_FSIZE, unix.RLIMIT_CORE, unix.RLIMIT_NPROC, unix.RLIMIT_STACK} {
		if unix.Prlimit(1, resource, &unix.Rlimit{}, nil) == nil {
			taken++
		}
	}
	fmt.Println(taken)
	return 0
}

// probeDeep makes directories one in the other, deeper than a path can name.
func probeDeep() int {
	for range 5000 {
		if unix.Mkdir("dddddddddd", 0o755) != nil || unix.Chdir("dddddddddd") != nil {
			return 1
		}
	}
	if os.WriteFile("file", nil, 0o644) != nil {
		return 1
	}
	return 0
}

// probeSwap makes "swapped" a directory and a link to its first argument by
// turns, until it is killed.
func probeSwap() int {
	target := os.Args[1]
	fmt.Println("begun")
	for {
		_ = os.Mkdir("real", 0o755)
		_ = os.WriteFile("real/file", []byte("inside"), 0o644)
		_ = os.Mkdir("real/tree", 0o755)
		_ = os.WriteFile("real/tree/file", []byte("inside"), 0o644)
		_ = os.Remove("link")
		_ = os.Symlink(target, "link")
		_ = os.Rename("real", "swapped")
		// Both names change places in one step, again and again.
		for range 200 {
			_ = unix.Renameat2(unix.AT_FDCWD, "link", unix.AT_FDCWD, "swapped", unix.RENAME_EXCHANGE)
		}
		_ = os.RemoveAll("real")
	}
}

// probeFetch connects to the loopback port of its first argument, sends the second
// and prints what it gets.
func probeFetch() int {
	c, err := net.Dial("tcp4", "127.0.0.1:"+os.Args[1])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_, _ = c.Write([]byte(os.Args[2]))
	if half, ok := c.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	_, err = io.Copy(os.Stdout, c)
	if err != nil {
		return 1
	}
	return 0
}
