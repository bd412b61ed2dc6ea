//go:build linux

// Package agent is the program inside a guest, the first process of its
// namespaces: it runs programs, moves files and reaps orphans, as the guest's own
// principal and with no more rights than that. It decides nothing; what may be
// asked, the host has decided.
//
// What reaches it is the host's frames on two pipes. When they close it ends, and
// with the first process everything in the guest.
//
// Read [Main] first, then exec.go and tree.go.
package agent

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// Agent answers calls.
type Agent struct {
	tree     tree
	reaper   *reaper
	kernel   chan struct{} // one for each thread that may wait in the kernel
	removals chan struct{} // and for each that removes
	ownProc  bool
	forward  forwards
	stops    stops
}

// Main is the whole program. It answers the status to exit with.
func Main() int {
	in, out, err := takePipes()
	if err != nil {
		return 1
	}
	// Nothing of this process may be read or traced by its own user's programs.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 1
	}
	// Orphans come here even where this is not the first process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1
	}
	lowerLimits()
	unix.Umask(0o022)
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), maxProcs))
	startThreads()
	t, err := openTree()
	if err != nil {
		return 1
	}
	a := &Agent{
		tree: t, reaper: newReaper(), ownProc: ownProc(),
		kernel: make(chan struct{}, kernelThreads), removals: make(chan struct{}, removalThreads),
	}
	stop, ready := make(chan struct{}), make(chan struct{})
	defer close(stop)
	go watchSignals(stop, ready, a.reaper.reap)
	<-ready
	err = serve.New(in, out, a.handle).Run()
	a.reaper.killAll()
	if err != nil {
		return 1
	}
	return 0
}

func (a *Agent) handle(c *serve.Call) {
	result, err := a.answer(c)
	if err != nil {
		result = outcome(err).Result()
	}
	c.Finish(result)
}

func (a *Agent) answer(c *serve.Call) ([]byte, error) {
	switch c.Op {
	case wire.OpExec:
		e, err := wire.ParseExec(c.Message)
		if err != nil {
			return nil, errInvalid
		}
		exit, err := a.exec(c, e)
		return exit.Result(), err
	case wire.OpForward:
		f, err := wire.ParseForward(c.Message)
		if err != nil {
			return nil, errInvalid
		}
		return done, a.relay(f)
	case wire.OpUnpack, wire.OpPack:
		t, err := wire.ParseTree(c.Message)
		if err != nil {
			return nil, errInvalid
		}
		return done, a.move(c, t)
	case wire.OpHold:
		h, err := wire.ParseHold(c.Message)
		if err != nil {
			return nil, errInvalid
		}
		return done, a.stops.hold(h.Release)
	}
	f, err := wire.ParseFile(c.Message)
	if err != nil {
		return nil, errInvalid
	}
	return a.file(c, f)
}

func (a *Agent) file(c *serve.Call, f wire.File) ([]byte, error) {
	switch c.Op {
	case wire.OpStat:
		i, err := a.stat(f)
		return i.Result(), err
	case wire.OpLook:
		d, err := a.look(f)
		return d.Result(), err
	case wire.OpOpen:
		return done, a.read(c, f)
	case wire.OpWrite:
		return done, a.write(c, f)
	case wire.OpMkdir:
		return done, a.mkdir(f)
	case wire.OpList:
		return done, a.list(c, f)
	case wire.OpRemove:
		return done, a.remove(c, f)
	}
	return nil, errInvalid
}

var done = wire.Outcome{Status: wire.StatusOK}.Result()
