package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/bwrap"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/cgroup"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/spawn"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
)

// Bubblewrap launches with the program of that name.
type Bubblewrap struct {
	Path    string
	Options bwrap.Options
	Thread  *spawn.Thread
	// Agent becomes process 1, under Filter. Where Options can mount it, it is a
	// file; otherwise each sandbox has a copy.
	Agent, Filter *Image
	// Mark is the zeroth argument of what is started, by which [spawn.EndMarked]
	// finds it.
	Mark string
}

// Request is one sandbox.
type Request struct {
	View       view.View
	Dir        string
	Group      *cgroup.Group
	Credential *syscall.Credential
	Limits     Limits
	// Root gives the guest a root of its own; nil leaves it one user.
	Root *Root
}

// Launch starts a sandbox. On an error nothing of it runs any more.
func (b *Bubblewrap) Launch(ctx context.Context, req Request) (*Sandbox, error) {
	var child descriptors
	defer child.close()
	s := &Sandbox{ended: make(chan struct{})}
	launched := false
	defer func() {
		if !launched {
			s.closeOwn()
		}
	}()
	if err := s.plumb(&child); err != nil {
		return nil, err
	}
	info, infoEnd, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe to hear bubblewrap: %w", err)
	}
	defer info.Close()
	mapped, err := req.Root.gate(&child)
	if err != nil {
		return nil, err
	}
	defer mapped.close()
	args, err := b.arguments(req, &child, child.add(infoEnd), mapped)
	if err != nil {
		return nil, err
	}
	s.monitor, err = b.Thread.Start(ctx, spawn.Child{
		Path: b.Path, Args: append([]string{b.Mark}, args...), Files: child.files,
		Credential: req.Credential, Group: req.Group,
	})
	child.close()
	if err != nil {
		return nil, fmt.Errorf("start bubblewrap: %w", err)
	}
	if err := s.begin(ctx, info, req.Root, mapped); err != nil {
		words := read(s.words)
		_ = s.monitor.Kill() // it may have ended by itself
		_, _ = s.monitor.Wait()
		if words != "" {
			err = fmt.Errorf("%w; bubblewrap says %.300q", err, words)
		}
		return nil, err
	}
	s.Limited = req.Limits.apply(s.PID)
	launched = true
	go s.watch()
	return s, nil
}

// arguments hands over what the sandbox is made of.
func (b *Bubblewrap) arguments(req Request, child *descriptors, info uintptr, mapped *gate) ([]string, error) {
	filter, err := b.Filter.Open()
	if err != nil {
		return nil, err
	}
	filterFD := child.add(filter)
	agent, err := b.Agent.Open()
	if err != nil {
		return nil, err
	}
	agentFD := child.add(agent)
	return bwrap.Command{
		View: req.View, Program: view.Agent, ProgramFD: agentFD, Dir: req.Dir,
		Options: b.Options, Filter: filterFD, Info: info,
		Content: child.content, Open: child.open, Root: req.Root.command(mapped),
	}.Arguments()
}

// birthTime bounds the milliseconds that bubblewrap takes to make process 1.
const birthTime = 10 * time.Second

// attach learns of process 1 and takes hold of it. It does so also for a caller
// that has gone: a bubblewrap that is killed before it has made the two of them
// end together can leave process 1 behind.
func (s *Sandbox) attach(ctx context.Context, info *os.File) error {
	if err := info.SetReadDeadline(time.Now().Add(birthTime)); err != nil {
		return fmt.Errorf("hear of process 1: %w", err)
	}
	said, err := io.ReadAll(io.LimitReader(info, 4096))
	if err != nil {
		return fmt.Errorf("hear of process 1: %w", err)
	}
	var numbers map[string]uint64
	if err := json.Unmarshal(said, &numbers); err != nil || numbers["child-pid"] == 0 {
		return errors.New("bubblewrap ended before it made process 1")
	}
	s.PID = int(numbers["child-pid"])
	delete(numbers, "child-pid")
	s.Namespaces = numbers
	if s.pidfd, err = hold(s.PID, s.monitor.Pid); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), kill(s.pidfd))
	}
	return nil
}
