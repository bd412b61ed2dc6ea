package guestagent

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Windows of a program's streams: several times what a pipe in the guest holds.
const (
	stdinWindow  = wire.MaxCredit
	outputWindow = 512 << 10
)

// Exec runs a program as [engine.Execer] has it, in a session and process group of
// its own, with the environment as it is given and nothing more. The program is
// looked for in the PATH of that environment.
//
// It returns when the program itself has ended: what it left behind keeps running,
// and what that writes is heard for a moment only. A signal's end is exit code 128
// and the signal's number. When ctx ends, or an output cannot be written, the
// program's process group is killed and Exec returns once the agent says so. A
// program that could not be started is an error and never an exit code.
//
// When Stdout and Stderr are one comparable writer, one Write is made at a time.
//
// A Read of Stdin may still wait when Exec has returned; what it brings is lost.
func (c *Client) Exec(ctx context.Context, cmd engine.ExecRequest) (exitCode int, err error) {
	return c.execAs(ctx, cmd, c.options.RunAs)
}

func (c *Client) execAs(ctx context.Context, cmd engine.ExecRequest, as *User) (exitCode int, err error) {
	code, err := c.exec(ctx, cmd, as)
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", program(cmd.Args), err)
	}
	return code, nil
}

func program(args []string) string {
	if len(args) == 0 {
		return "nothing"
	}
	return sandbox.Echo(args[0])
}

func (c *Client) exec(ctx context.Context, cmd engine.ExecRequest, as *User) (int, error) {
	shape := shape{out: outputWindow, err: outputWindow}
	if cmd.Stdin != nil {
		shape.in = stdinWindow
	}
	k, err := c.begin(ctx, wire.Exec{
		Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: cmd.Stdin != nil,
		GraceMillis: uint32(c.options.StopGrace.Milliseconds()), Window: outputWindow, As: as.wire(),
	}.Request(), shape)
	if err != nil {
		return 0, err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if cmd.Stdin != nil {
		go k.feed(cmd.Stdin) // ends with the call, or with a Read that waits
	}
	stdout, stderr := cmd.Stdout, cmd.Stderr
	if same(stdout, stderr) {
		stdout = &oneAtATime{to: stdout}
		stderr = stdout
	}
	var outputs sync.WaitGroup
	for stream, to := range map[uint8]io.Writer{wire.StreamOut: stdout, wire.StreamErr: stderr} {
		outputs.Go(func() {
			if err := k.copyTo(to, stream); err != nil {
				stop(err)
			}
		})
	}
	payload, err := k.wait(running)
	outputs.Wait()
	return c.exited(running, payload, err)
}

// same reports whether both streams go to one writer, which two goroutines must
// not write to at once. Values that cannot be compared are taken as two.
func same(a, b io.Writer) bool {
	return a != nil && b != nil &&
		reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// oneAtATime passes one Write on at a time.
type oneAtATime struct {
	mu sync.Mutex
	to io.Writer
}

func (w *oneAtATime) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// exited reads the result of a program.
func (c *Client) exited(ctx context.Context, payload []byte, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	o, exit, err := wire.ParseExit(payload)
	switch {
	case err != nil:
		c.lose(err)
		return 0, c.Err()
	case o.Status != wire.StatusOK:
		return 0, outcomeError(ctx, o)
	}
	return int(exit.Code), nil
}

// copyTo writes one stream of the call as it comes. A nil writer lets it pass.
func (k *call) copyTo(to io.Writer, stream uint8) error {
	ring := k.in[stream]
	for {
		part, err := ring.Next(nil)
		if err != nil {
			return nil //nolint:nilerr // why the stream ended is the call's to say
		}
		if to != nil {
			if _, err := to.Write(part); err != nil {
				ring.Abandon()
				return fmt.Errorf("write the program's output: %w", err)
			}
		}
		k.took(stream, len(part))
	}
}

// took says that n bytes of a stream were used.
func (k *call) took(stream uint8, n int) {
	grant := k.in[stream].Advance(n)
	if grant == 0 {
		return
	}
	if k.pending[stream] == nil {
		k.pending[stream] = &pendingCredit{call: k.id, stream: stream}
	}
	k.client.out.grant(k.pending[stream], grant)
}

// feed sends what can be read as it comes, then its end. A read that fails ends
// the program's input.
func (k *call) feed(from io.Reader) {
	s := newSender(k)
	for {
		room, err := k.credit.Wait(wire.MaxChunk, k.over)
		if err != nil {
			return
		}
		chunk, ok := s.chunk()
		if !ok {
			return
		}
		n, err := from.Read(chunk[wire.HeaderSize:][:room])
		if n > 0 {
			s.send(chunk, n)
		} else {
			s.free <- chunk
		}
		if err != nil {
			s.end()
			return
		}
	}
}
