package acas

import (
	"context"
	"errors"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/frame"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

const (
	// stopBound is how long a program is tried to be ended, and stopPause how long its
	// end is waited for before it is tried again: its shell may not have begun yet.
	stopBound = 10 * time.Second
	stopPause = time.Second
	// firstSize and lastSize are how often the output of a program that goes on is
	// looked at, at first and in the end.
	firstSize, lastSize = 200 * time.Millisecond, 5 * time.Second
)

// ended runs a script, and ends the program in it when ctx ends or when a stream is
// more than is carried. The error is that of a script whose end was not seen.
func (g *guest) ended(ctx context.Context, script, token string) (wire.ExecResult, error) {
	// The service does not end a command whose caller has left.
	calling, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	type end struct {
		result wire.ExecResult
		err    error
	}
	ends := make(chan end, 1)
	go func() {
		result, err := g.sandbox.ExecShell(calling, wire.ShellCommand{Command: script, WorkingDirectory: "/"})
		ends <- end{result, err}
	}()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	flooded := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if g.floods(watching, token) {
			close(flooded)
		}
	}()
	defer func() { stop(); <-watched }()

	select {
	case e := <-ends:
		return e.result, e.err
	case <-ctx.Done():
	case <-flooded:
	}
	stopping, cancel := context.WithTimeout(calling, stopBound)
	defer cancel()
	for stopping.Err() == nil {
		_, refused := g.sandbox.ExecShell(stopping, wire.ShellCommand{Command: frame.Stop(token), WorkingDirectory: "/"})
		pause := time.NewTimer(stopPause)
		select {
		case e := <-ends:
			pause.Stop()
			return e.result, e.err
		case <-pause.C:
		case <-stopping.Done():
		}
		if refused != nil {
			break
		}
	}
	leave()
	e := <-ends
	if e.err == nil {
		return e.result, nil
	}
	return wire.ExecResult{}, errors.Join(errNotEnded, e.err)
}

var errNotEnded = errors.New("the program could not be ended")

// floods looks, ever less often, whether a stream is more than is carried.
func (g *guest) floods(ctx context.Context, token string) bool {
	stdout, stderr := frame.Outputs(token)
	for wait := firstSize; ; wait = min(2*wait, lastSize) {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
		for _, name := range []string{stdout, stderr} {
			if info, err := g.sandbox.StatFile(ctx, name); err == nil && info.Size != nil && *info.Size > maxStream {
				return true
			}
		}
	}
}
