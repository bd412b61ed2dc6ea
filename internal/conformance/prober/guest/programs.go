//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// streams copies its first argument's worth of standard input to standard output
// and the same bytes in reverse to standard error, both at once in small pieces,
// and exits with its second argument.
func streams(args []string) int {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return failure
	}
	reversed := bytes.Clone(data)
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	const piece = 1000
	for at := 0; at < len(data); at += piece {
		end := min(at+piece, len(data))
		if _, err := os.Stdout.Write(data[at:end]); err != nil {
			return failure
		}
		if _, err := os.Stderr.Write(reversed[at:end]); err != nil {
			return failure
		}
	}
	return exit(args)
}

// arguments prints each of its arguments with its length in front.
func arguments(args []string) int {
	out := bufio.NewWriter(os.Stdout)
	for _, a := range args {
		fmt.Fprintf(out, "%d:%s,", len(a), a)
	}
	return status(out.Flush())
}

func status(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return failure
	}
	return 0
}

// number is the argument at a place, or what stands for a missing one.
func number(args []string, at, otherwise int) int {
	if at < len(args) {
		if n, err := strconv.Atoi(args[at]); err == nil {
			return n
		}
	}
	return otherwise
}

func exit(args []string) int { return number(args, 0, 0) }

func cat([]string) int {
	_, err := io.Copy(os.Stdout, os.Stdin)
	return status(err)
}

// env prints its environment, NUL after each variable.
func env([]string) int {
	out := bufio.NewWriter(os.Stdout)
	for _, pair := range os.Environ() {
		fmt.Fprintf(out, "%s\x00", pair)
	}
	return status(out.Flush())
}

func pwd([]string) int {
	var buffer [4096]byte
	n, err := syscall.Getcwd(buffer[:])
	if err == nil {
		_, err = os.Stdout.Write(bytes.TrimRight(buffer[:n], "\x00"))
	}
	return status(err)
}

// sleep prints "begun" and waits for as many seconds.
func sleep(args []string) int {
	fmt.Fprintln(os.Stdout, "begun")
	time.Sleep(time.Duration(number(args, 0, 3600)) * time.Second)
	return 0
}

// flood writes to both streams without end.
func flood([]string) int {
	block := bytes.Repeat([]byte("0123456789abcdef"), 1024)
	ended := make(chan error, 2)
	for _, w := range []*os.File{os.Stdout, os.Stderr} {
		go func() {
			for {
				if _, err := w.Write(block); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	<-ended
	return failure
}

// stubborn takes every signal that can be taken and goes on.
func stubborn(args []string) int {
	signal.Notify(make(chan os.Signal, 1))
	return sleep(args)
}

// stop stops itself, as a debugger would. The signal may reach another thread first,
// so this one waits to be stopped too.
func stop([]string) int {
	fmt.Fprintln(os.Stdout, "begun")
	err := syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	time.Sleep(time.Second)
	return status(err)
}

// abort dies by a signal that dumps core, past this language's own handler.
func abort([]string) int {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: 1 << 30, Max: 1 << 30}) // where it is allowed
	var byDefault [4]uint64
	const setSize = 8
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGABRT), uintptr(unsafe.Pointer(&byDefault)), 0, setSize, 0, 0)
	if errno != 0 {
		return status(errno)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGABRT); err != nil {
		return status(err)
	}
	return linger(nil)
}

// closed closes its streams and exits with 3 a little later.
func closed([]string) int {
	for fd := range 3 {
		_ = syscall.Close(fd)
	}
	time.Sleep(50 * time.Millisecond)
	return 3
}

// away leaves a child behind in a session of its own, which holds the streams, and
// prints its id.
func away([]string) int {
	child := exec.Command("/proc/self/exe", "linger") //nolint:noctx // it has to outlive this process
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return status(err)
	}
	fmt.Fprint(os.Stdout, child.Process.Pid)
	return 0
}

// linger stays for five minutes, deaf to what asks it to go.
func linger([]string) int {
	signal.Ignore(syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGPIPE)
	time.Sleep(5 * time.Minute)
	return 0
}
