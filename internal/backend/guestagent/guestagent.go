// Package guestagent is the agent inside a guest, seen from the host: the program
// to put there ([Program]) and the client to talk to it with ([Connect]). Engines
// that can start a program as the first process of a sandbox share it.
//
// The agent is the guest's own principal. Nothing it says is trusted: the client
// takes every byte as hostile, so that a lying agent can waste a call and never
// more. What it answers about files and programs is the guest's claim. Files are
// reached without following a link anywhere in the path, as the guest, so that the
// agent's reach is exactly the guest's own.
//
// What the engine must see to:
//
//   - the agent is process 1 of a namespace of its own, started once and never
//     again, with an empty environment and no arguments;
//   - its standard input and output are the two pipes, it has no other
//     descriptors, and the guest cannot write the file that it was started from;
//   - when [Client.Done] closes, the sandbox is ended.
//
// This package never starts a process, looks at no policy and confines no path
// but by refusing links.
package guestagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// ErrLost is under the error of every call once the agent is lost: its pipes
// closed, or it sent what no agent sends.
var ErrLost = fmt.Errorf("agent lost: %w", engine.ErrGone)

// ErrClosed is under the error of every call after [Client.Close].
var ErrClosed = fmt.Errorf("agent closed: %w", engine.ErrGone)

// Options are the bounds of one client. The zero value is fit for use.
type Options struct {
	// Calls is how many calls may be open at once, 1024 when zero; more wait.
	Calls int
	// StopGrace is the time a program has between SIGTERM and SIGKILL when its
	// call's context ends. With zero, the default, there is only SIGKILL.
	StopGrace time.Duration
	// Answer bounds the wait for the agent to say that it ended what was
	// cancelled, beyond StopGrace; a second when zero. It is how much later than
	// its context a call can return.
	Answer time.Duration
	// Root says that the agent is the guest's root, with the power of one over
	// its files, so that those are asked for as root and links may lead the way.
	// RunAs is then whom its programs run as, nil for root too.
	Root  bool
	RunAs *User
}

// User is a user of the guest by its numbers there. Groups are supplementary.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// RootAccess are the ways in which an agent reaches files that is the guest's
// root, the safest first.
func RootAccess() []engine.Access {
	return []engine.Access{
		{As: sandbox.PrincipalRoot, Links: engine.Beneath}, {As: sandbox.PrincipalRoot, Links: engine.Follow},
	}
}

func (o Options) grants(a engine.Access) bool {
	if o.Root {
		return slices.Contains(RootAccess(), a)
	}
	return a == Access()
}

func (o Options) withDefaults() (Options, error) {
	if o.Calls == 0 {
		o.Calls = 1024
	}
	if o.Answer == 0 {
		o.Answer = time.Second
	}
	switch {
	case o.Calls < 1 || o.Calls > maxCalls:
		return o, fmt.Errorf("guest agent: %d calls at once", o.Calls)
	case o.StopGrace < 0 || o.StopGrace > time.Hour:
		return o, fmt.Errorf("guest agent: a stop grace of %v", o.StopGrace)
	case o.Answer < 0:
		return o, fmt.Errorf("guest agent: a wait of %v for answers", o.Answer)
	case o.RunAs != nil && (!o.Root || len(o.RunAs.Groups) > wire.MaxGroups):
		return o, errors.New("guest agent: programs run as somebody that the agent cannot become")
	}
	return o, nil
}

// maxCalls stays below what the agent takes.
const maxCalls = 4000

// Connect greets the agent behind the two pipes and takes them over: it closes
// both whenever it fails and when the client closes. Closing r must end a Read
// that waits, and closing w a Write, as they do for pipes of package os.
func Connect(ctx context.Context, r io.ReadCloser, w io.WriteCloser, options Options) (*Client, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, errors.Join(err, r.Close(), w.Close())
	}
	widen(r)
	widen(w)
	c := newClient(r, w, options)
	c.out.post(item{frame: wire.Frame(wire.KindHello, 0, 0, wire.Hello())})
	c.running.Go(c.receive)
	c.running.Go(func() { c.out.run(c) })
	select {
	case <-c.greeted:
		return c, nil
	case <-c.done:
		err = c.Err()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_ = c.Close() // the greeting's failure is what matters
	return nil, fmt.Errorf("greet the guest agent: %w", err)
}
