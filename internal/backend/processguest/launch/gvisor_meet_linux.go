package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootTime bounds the seconds that gVisor takes until process 1 says a word.
const bootTime = 60 * time.Second

// meet waits for process 1's first word, which says that the sandbox stands, and
// takes hold of the two processes that it is made of: gVisor's kernel and the one
// that serves it files. Whatever else there is runs in their namespaces and ends
// with them.
func (s *Sandbox) meet(ctx context.Context) error {
	if err := s.hear(ctx); err != nil {
		return err
	}
	children, err := childrenOf(s.monitor.Pid)
	if err != nil {
		return err
	}
	for _, pid := range children {
		held, err := hold(pid, s.monitor.Pid)
		if err != nil {
			return err
		}
		if s.pidfd == nil && isKernel(pid) {
			s.pidfd, s.PID = held, pid
		} else {
			s.also = append(s.also, held)
		}
	}
	if s.pidfd == nil {
		return errors.New("runsc runs no kernel for the sandbox")
	}
	s.Namespaces, err = namespacesOf(s.PID)
	return err
}

// namespacesOf reads the numbers of a process' namespaces, by the names that
// bubblewrap has for them.
func namespacesOf(pid int) (map[string]uint64, error) {
	numbers := map[string]uint64{}
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} {
		link, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/" + kind)
		if err != nil {
			return nil, fmt.Errorf("look at a sandbox's namespaces: %w", err)
		}
		number, found := strings.CutPrefix(strings.TrimSuffix(link, "]"), kind+":[")
		if !found {
			return nil, errors.New("look at a sandbox's namespaces: the kernel names one otherwise")
		}
		if numbers[kind+"-namespace"], err = strconv.ParseUint(number, 10, 64); err != nil {
			return nil, fmt.Errorf("look at a sandbox's namespaces: %w", err)
		}
	}
	return numbers, nil
}

// hear returns when something can be read from process 1, without reading it.
func (s *Sandbox) hear(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bootTime, errors.New("the sandbox does not start"))
	defer cancel()
	raw, err := s.Out.SyscallConn()
	if err != nil {
		return fmt.Errorf("hear of process 1: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Out.SetReadDeadline(time.Unix(1, 0)) }) // a pipe has deadlines
	var events int16
	err = raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		events = poll[0].Revents
		return err == nil && n > 0
	})
	if !stop() {
		return fmt.Errorf("hear of process 1: %w", context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("hear of process 1: %w", err)
	}
	if events&unix.POLLIN == 0 {
		return errors.New("runsc ended before process 1 said a word")
	}
	return nil
}

// childrenOf lists a process' children, whichever of its threads made them.
func childrenOf(pid int) ([]int, error) {
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	if err != nil {
		return nil, fmt.Errorf("list the processes of a sandbox: %w", err)
	}
	var children []int
	for _, thread := range threads {
		content, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended, and its children are another's
		}
		for word := range bytes.FieldsSeq(content) {
			child, err := strconv.Atoi(string(word))
			if err != nil {
				return nil, fmt.Errorf("list the processes of a sandbox: %w", err)
			}
			children = append(children, child)
		}
	}
	return children, nil
}

// isKernel tells gVisor's kernel from the other children of runsc, by the
// arguments that runsc gives it.
func isKernel(pid int) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && bytes.Contains(append([]byte{0}, line...), []byte("\x00boot\x00"))
}

// endTime bounds the seconds that the kernel takes to end killed processes.
const endTime = 20 * time.Second

// abandon ends what runs of a sandbox that did not come to be, and returns when
// none of it is seen to run any more.
func (s *Sandbox) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), endTime, errors.New("a killed sandbox does not end"))
	defer cancel()
	children, err := childrenOf(s.monitor.Pid)
	for _, pid := range children {
		if held, gone := hold(pid, s.monitor.Pid); gone == nil {
			s.also = append(s.also, held)
		}
	}
	_ = s.monitor.Kill() // it may have ended by itself
	_, waited := s.monitor.Wait()
	err = errors.Join(err, waited)
	for _, p := range s.also {
		err = errors.Join(err, kill(p), seeEnd(ctx, p))
	}
	return err
}

// seeEnd returns when the process of a descriptor has ended, or with ctx.
func seeEnd(ctx context.Context, pidfd *os.File) error {
	const glance = 50 // milliseconds, between looks at ctx
	for {
		poll := []unix.PollFd{{Fd: int32(pidfd.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, glance)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// left removes what a sandbox that did not come to be left on disk.
func (s *Sandbox) left() error {
	if s.leave == nil {
		return nil
	}
	return s.leave()
}
