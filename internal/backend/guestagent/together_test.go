package guestagent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// harmless answers as an agent does and touches nothing: a program echoes its
// input, files are sinks and sources of zeros.
func harmless(c *serve.Call) {
	result := wire.Outcome{Status: wire.StatusOK}.Result()
	defer func() { c.Finish(result) }()
	cancelled := wire.Outcome{Status: wire.StatusCancelled}.Result()
	send := func(stream uint8, data []byte) bool {
		for len(data) > 0 {
			room, err := c.Room(stream, len(data), c.Cancelled())
			if err != nil {
				result = cancelled
				return false
			}
			chunk := serve.NewChunk()
			n := copy(chunk.Payload(room), data)
			_ = c.Send(stream, chunk, n)
			chunk.Free()
			data = data[n:]
		}
		return true
	}
	receive := func(each func(part []byte) bool) {
		_ = c.Accept()
		for {
			part, err := c.Next(c.Cancelled())
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil || !each(part) {
				result = cancelled
				return
			}
			_ = c.Took(len(part))
		}
	}
	switch c.Op {
	case wire.OpExec:
		e, _ := wire.ParseExec(c.Message)
		_ = errors.Join(c.Open(wire.StreamOut, e.Window), c.Open(wire.StreamErr, e.Window))
		result = wire.Exit{Code: 7}.Result()
		receive(func(part []byte) bool { return send(wire.StreamOut, part) && send(wire.StreamErr, part) })
	case wire.OpOpen:
		f, _ := wire.ParseFile(c.Message)
		_ = errors.Join(c.Open(wire.StreamOut, f.Window), c.Reply(wire.Info{Kind: wire.EntryFile, Size: 3 << 19}.Result()))
		send(wire.StreamOut, make([]byte, 3<<19))
	case wire.OpWrite:
		receive(func([]byte) bool { return true })
	case wire.OpStat:
		result = wire.Info{Kind: wire.EntryDirectory}.Result()
	case wire.OpList:
		f, _ := wire.ParseFile(c.Message)
		_ = c.Open(wire.StreamOut, f.Window)
		for range 1000 {
			if !send(wire.StreamOut, wire.AppendEntry(nil, wire.Info{Kind: wire.EntryOther}, "name")) {
				return
			}
		}
	}
}

// together is a client over an agent that is harmless, in one process.
func together(t *testing.T) *guestagent.Client {
	t.Helper()
	hostIn, agentOut := io.Pipe()
	agentIn, hostOut := io.Pipe()
	s := serve.New(agentIn, agentOut, harmless)
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the agent: %v", err)
		}
		s.Wait()
	})
	c, err := guestagent.Connect(t.Context(), hostIn, hostOut, guestagent.Options{Calls: 20, Answer: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		running.Wait()
	})
	return c
}

// FuzzTogether makes calls of its input, each at once with those before it and
// some cancelled, and checks what came of each.
func FuzzTogether(f *testing.F) {
	f.Add([]byte{0, 9, 1, 8, 2, 200, 3, 1, 4, 0, 0, 3, 2, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := together(t)
		var all sync.WaitGroup
		for ; len(b) >= 2 && c.Err() == nil; b = b[2:] {
			what, how := b[0]%5, b[1]
			ctx, cancel := context.WithCancel(t.Context())
			all.Go(func() {
				defer cancel()
				if err := one(ctx, c, what, how, cancel); err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("call %d, %d: %v", what, how, err)
				}
			})
			if how%7 == 1 {
				cancel()
			}
		}
		all.Wait()
		if _, err := c.Stat(t.Context(), anyRef()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

var errWrong = errors.New("not what was to come")

// one makes a call and cancels it on the way when how says so.
func one(ctx context.Context, c *guestagent.Client, what, how uint8, cancel func()) error {
	early := how%5 == 2
	size := int64(how) << 13
	switch what {
	case 0:
		var stdout, stderr bytes.Buffer
		in := zeroBytes(int(size))
		if early {
			in = io.MultiReader(in, cancelling{cancel})
		}
		code, err := c.Exec(ctx, engine.ExecRequest{Args: []string{"x"}, Dir: "/", Stdin: in, Stdout: &stdout, Stderr: &stderr})
		if err == nil && (code != 7 || int64(stdout.Len()) != size || stderr.Len() != stdout.Len()) {
			return errWrong
		}
		return err
	case 1:
		in := zeroBytes(int(size))
		if early && size > 0 {
			in = io.MultiReader(zeroBytes(int(size/2)), cancelling{cancel}, zeroBytes(int(size-size/2)))
		}
		return c.Write(ctx, anyRef(), in, size)
	case 2:
		r, _, err := c.Open(ctx, anyRef())
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		if early {
			_, err = io.CopyN(io.Discard, r, min(size, 1<<20))
			return err
		}
		if n, err := io.Copy(io.Discard, r); err != nil || n != 3<<19 {
			return errors.Join(err, errWrong)
		}
		return nil
	case 3:
		n := 0
		err := c.List(ctx, anyRef(), func(engine.Info) bool {
			n++
			return !early || n < int(how)
		})
		if err == nil && !early && n != 1000 {
			return errWrong
		}
		return err
	default:
		_, err := c.Stat(ctx, anyRef())
		return err
	}
}

// cancelling is an empty reader that cancels when it is read.
type cancelling struct{ cancel func() }

func (c cancelling) Read([]byte) (int, error) {
	c.cancel()
	return 0, io.EOF
}
