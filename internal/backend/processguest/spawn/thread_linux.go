// Package spawn starts processes from one thread that outlives them.
//
// Linux ends a child whose parent asked for that when the parent's *thread* ends,
// not its process, and Go ends threads as it likes. Every sandbox asks for that,
// so that none outlives its host; therefore one goroutine is locked to a thread
// for as long as there are sandboxes, and starts them all.
package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/cgroup"
)

// Thread starts processes. Make one with [NewThread].
type Thread struct {
	requests  chan request
	ended     chan struct{}
	inherited []int

	mu     sync.Mutex
	closed bool
	users  sync.WaitGroup
}

type request struct {
	child  Child
	answer chan<- answer
}

type answer struct {
	process *os.Process
	err     error
}

// Child is a process to start. It gets no environment, and Files as its
// descriptors from 0 on.
type Child struct {
	// Path is the program, Args all of its arguments, the zeroth included.
	Path  string
	Args  []string
	Files []*os.File
	// Credential is who it becomes before it runs, nil for whoever we are; it
	// then has no other group.
	Credential *syscall.Credential
	// Group is the cgroup it is born in; nil is the thread's own.
	Group *cgroup.Group
	// Apart gives it namespaces of its own, in which it is root and its user of
	// the host is the only one there is: it can build more, and what it mounts
	// goes when it goes.
	Apart bool
}

// apart is what Apart adds. The kernel gives the process its user before the
// first instruction of its program, in the namespace and outside.
func (c Child) apart(attr *syscall.SysProcAttr) {
	uid, gid := os.Geteuid(), os.Getegid()
	if c.Credential != nil {
		uid, gid = int(c.Credential.Uid), int(c.Credential.Gid)
	}
	attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWCGROUP
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	// Only who may change its groups can empty them; an ordinary user keeps its own.
	attr.GidMappingsEnableSetgroups = c.Credential != nil
	attr.Credential = &syscall.Credential{NoSetGroups: c.Credential == nil}
}

// NewThread starts the thread. Close ends it.
func NewThread() (*Thread, error) {
	inherited, err := inheritable()
	if err != nil {
		return nil, err
	}
	t := &Thread{requests: make(chan request), ended: make(chan struct{}), inherited: inherited}
	go t.serve()
	return t, nil
}

// inheritable are the descriptors that every child of this process would get
// without being given them, because whoever started this process left them so.
func inheritable() ([]int, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, fmt.Errorf("list this process's descriptors: %w", err)
	}
	var found []int
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < 3 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			found = append(found, fd)
		}
	}
	return found, nil
}

// withhold lengthens a child's list of descriptors with closed ones, so that it
// reaches over the inheritable.
func (t *Thread) withhold(files []*os.File) []*os.File {
	for _, fd := range t.inherited {
		for len(files) <= fd {
			files = append(files, nil)
		}
	}
	return files
}

var errClosed = errors.New("the thread that starts sandboxes has ended")

// Start starts a process that is killed when this process ends, however it ends.
func (t *Thread) Start(ctx context.Context, child Child) (*os.Process, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, errClosed
	}
	t.users.Add(1)
	t.mu.Unlock()
	defer t.users.Done()

	got := make(chan answer, 1)
	select {
	case t.requests <- request{child, got}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	a := <-got // a fork and an exec: there is nothing to wait for
	return a.process, a.err
}

// Close ends the thread, and with it every process it started that still runs.
func (t *Thread) Close() {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		<-t.ended
		return
	}
	t.closed = true
	t.mu.Unlock()
	t.users.Wait()
	close(t.requests)
	<-t.ended
}

// serve never unlocks: the thread ends with the goroutine, also because it may
// not have come back from somewhere.
func (t *Thread) serve() {
	runtime.LockOSThread()
	defer close(t.ended)
	var stray error
	for r := range t.requests {
		if stray != nil {
			r.answer <- answer{err: stray}
			continue
		}
		r.child.Files = t.withhold(r.child.Files)
		p, err := start(r.child)
		if strayed, ok := errors.AsType[*cgroup.StrayedError](err); ok {
			stray = strayed
		}
		r.answer <- answer{p, err}
	}
}

// start forks and executes. A process that is there although something went wrong
// is ended.
func start(child Child) (*os.Process, error) {
	attr := &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: child.Files, // a nil environment would be our own
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: child.Credential, Setsid: true},
	}
	if child.Apart {
		child.apart(attr.Sys)
	}
	var process *os.Process
	run := func() (err error) {
		process, err = os.StartProcess(child.Path, child.Args, attr)
		return err
	}
	var err error
	if child.Group == nil {
		err = run()
	} else {
		err = child.Group.Birth(attr.Sys, run)
	}
	if err != nil && process != nil {
		_ = process.Kill() // it may have ended by itself
		_, _ = process.Wait()
		process = nil
	}
	return process, err
}
