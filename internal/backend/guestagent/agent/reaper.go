//go:build linux

package agent

import (
	"errors"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// reaper is the one place that starts processes and waits for them: those that
// were asked for, and as the first process of its namespace everybody's orphans.
type reaper struct {
	mu      sync.Mutex // held from before a fork until the process is known
	running map[int]*process
}

// process is one program that was started. Its number names it and its process
// group until it was waited for, under the reaper's lock.
type process struct {
	pid    int
	ended  chan struct{}
	status unix.WaitStatus // once ended is closed
}

func newReaper() *reaper { return &reaper{running: map[int]*process{}} }

// start runs a program. Nothing is waited for meanwhile, so that neither its own
// end nor that of a child whose exec failed is taken for somebody else's.
func (r *reaper) start(argv0 string, argv []string, attr *syscall.ProcAttr) (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(argv0, argv, attr)
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, ended: make(chan struct{})}
	r.running[pid] = p
	return p, nil
}

// signal reaches the program's whole group, unless the program has ended: then
// its number may be another's.
func (r *reaper) signal(p *process, sig unix.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[p.pid] == p {
		_ = unix.Kill(-p.pid, sig) // gone already is as good
	}
}

// reap waits for all that has ended.
func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
		if p := r.running[pid]; p != nil && (status.Exited() || status.Signaled()) {
			p.status = status
			delete(r.running, pid)
			close(p.ended)
		}
	}
}

// killAll ends every program's group.
func (r *reaper) killAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid := range r.running {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}
