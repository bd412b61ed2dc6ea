//go:build linux

package agent

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// exec runs a program to its own end, whatever it leaves behind, and answers how
// it ended. A program that is cancelled is answered for too, once it is gone.
func (a *Agent) exec(c *serve.Call, e wire.Exec) (wire.Exit, error) {
	for _, stream := range []uint8{wire.StreamOut, wire.StreamErr} {
		if err := c.Open(stream, e.Window); err != nil {
			return wire.Exit{}, err
		}
	}
	s, err := openStdio(e.Stdin)
	if err != nil {
		return wire.Exit{}, err
	}
	defer s.close()
	p, err := a.start(e, s)
	if err != nil {
		return wire.Exit{}, err
	}
	settle := s.carry(c, p.ended)
	if e.Stdin {
		_ = c.Accept() // a host that is gone cancels the call
	}
	cancelled := a.await(c, p, time.Duration(e.GraceMillis)*time.Millisecond)
	settle()
	select {
	case <-c.Cancelled():
		cancelled = true // after the program's end, and its output may be cut
	default:
	}
	switch {
	case cancelled:
		return wire.Exit{}, errCancelled
	case p.status.Signaled():
		return wire.Exit{Code: 128 + uint8(p.status.Signal())}, nil
	default:
		return wire.Exit{Code: uint8(p.status.ExitStatus())}, nil
	}
}

func (a *Agent) start(e wire.Exec, s *stdio) (*process, error) {
	if len(e.Args) == 0 || e.Args[0] == "" {
		return nil, unix.EINVAL
	}
	file, err := a.prepare(e)
	if err != nil {
		return nil, err
	}
	if err := s.give(e.As); err != nil {
		return nil, err
	}
	p, err := a.reaper.start(file, e.Args, &syscall.ProcAttr{
		Dir: e.Dir, Env: e.Env, Files: s.childs(),
		Sys: &syscall.SysProcAttr{Setsid: true, Credential: credential(e.As)},
	})
	s.closeChilds()
	if err != nil {
		return nil, startError(err)
	}
	a.offerToKiller(p.pid)
	return p, nil
}

// prepare looks at what is to be run, and where.
func (a *Agent) prepare(e wire.Exec) (file string, err error) {
	defer a.enterKernel()()
	if err := workingDirectory(e.Dir); err != nil {
		return "", dirError{err}
	}
	return lookUp(e.Args[0], e.Dir, e.Env)
}

// workingDirectory looks at the directory first, since a failed chdir and a
// failed exec look the same.
func workingDirectory(dir string) error {
	if dir == "" || dir[0] != '/' {
		return unix.EINVAL
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	return nil
}

// startError is what fork and exec say in the words of their own.
func startError(err error) error {
	switch {
	case errors.Is(err, unix.EAGAIN):
		return errStatus(wire.StatusProcesses)
	case errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.ELIBBAD):
		return errStatus(wire.StatusNotProgram)
	case errors.Is(err, unix.E2BIG):
		return errStatus(wire.StatusTooLong)
	}
	return err
}

// await returns when the program has ended, which it sees to when the call is
// cancelled. It answers whether it did.
func (a *Agent) await(c *serve.Call, p *process, grace time.Duration) (cancelled bool) {
	select {
	case <-p.ended:
		return false
	case <-c.Cancelled():
	}
	if grace > 0 {
		a.reaper.signal(p, unix.SIGTERM)
		a.reaper.signal(p, unix.SIGCONT)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.ended:
		case <-timer.C:
		}
	}
	a.reaper.signal(p, unix.SIGKILL)
	<-p.ended
	return true
}

// stdio are the pipes of one program.
type stdio struct {
	in, out, err pipe
	given        bool // there is standard input
	pumps        sync.WaitGroup
}

func openStdio(stdin bool) (*stdio, error) {
	s := &stdio{given: stdin, in: noPipe, out: noPipe, err: noPipe}
	for _, p := range []*pipe{&s.in, &s.out, &s.err} {
		if err := p.open(p == &s.in); err != nil {
			s.close()
			return nil, err
		}
	}
	if !stdin {
		s.in.closeOurs()
	}
	return s, nil
}

func (s *stdio) childs() []uintptr {
	return []uintptr{uintptr(s.in.child), uintptr(s.out.child), uintptr(s.err.child)}
}

func (s *stdio) closeChilds() {
	s.in.closeChild()
	s.out.closeChild()
	s.err.closeChild()
}

func (s *stdio) close() {
	for _, p := range []*pipe{&s.in, &s.out, &s.err} {
		p.closeChild()
		p.closeOurs()
	}
}

// carry moves the streams. Once the program has ended, settle waits until its
// output is through.
func (s *stdio) carry(c *serve.Call, ended <-chan struct{}) (settle func()) {
	if s.given {
		s.pumps.Go(func() { feed(c, &s.in, ended) })
	}
	outputs := []*output{
		{call: c, stream: wire.StreamOut, pipe: &s.out}, {call: c, stream: wire.StreamErr, pipe: &s.err},
	}
	for _, o := range outputs {
		s.pumps.Go(o.carry)
	}
	return func() {
		for _, p := range []*pipe{&s.in, &s.out, &s.err} {
			p.interrupt()
		}
		s.pumps.Wait()
	}
}
