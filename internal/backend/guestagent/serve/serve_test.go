package serve_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/flow"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ok = wire.Outcome{Status: wire.StatusOK}.Result()

// echo sends back what it receives until either ends, and touches nothing else.
func echo(c *serve.Call) {
	defer c.Finish(ok)
	if c.Open(wire.StreamOut, wire.MaxCredit) != nil || c.Accept() != nil {
		return
	}
	for {
		part, err := c.Next(c.Cancelled())
		if err != nil {
			return
		}
		room, err := c.Room(wire.StreamOut, len(part), c.Cancelled())
		if err != nil {
			return
		}
		chunk := serve.NewChunk()
		n := copy(chunk.Payload(room), part)
		err = errors.Join(c.Send(wire.StreamOut, chunk, n), c.Took(n))
		chunk.Free()
		if err != nil {
			return
		}
	}
}

func hello() []byte { return wire.Frame(wire.KindHello, 0, 0, wire.Hello()) }

func request(call uint64) []byte {
	return wire.Frame(wire.KindRequest, 0, call, wire.File{Path: "/x"}.Request(wire.OpStat))
}

func run(input ...[]byte) (output []byte, err error) {
	var out bytes.Buffer
	s := serve.New(bytes.NewReader(bytes.Join(input, nil)), &out, echo)
	err = s.Run()
	s.Wait()
	return out.Bytes(), err
}

func TestEndOfInputEndsTheSessionWell(t *testing.T) {
	t.Parallel()
	for name, input := range map[string][][]byte{
		"at once": {hello()}, "with a call": {hello(), request(1)},
		"with a stream": {hello(), request(1), wire.Frame(wire.KindData, 0, 1, []byte("x"))},
		"with an end":   {hello(), request(1), wire.Frame(wire.KindEnd, 0, 1, nil)},
		"cancelled":     {hello(), request(1), wire.Frame(wire.KindCancel, 0, 1, nil), wire.Frame(wire.KindCancel, 0, 1, nil)},
	} {
		out, err := run(input...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		checkOutput(t, out)
	}
}

func TestWhatNoHostSendsEndsTheSession(t *testing.T) {
	t.Parallel()
	for name, input := range map[string][][]byte{
		"half a hello":             {hello()[:5]},
		"no hello":                 {request(1)},
		"two":                      {hello(), hello()},
		"half a frame":             {hello(), request(1)[:20]},
		"a call again":             {hello(), request(1), request(1)},
		"a call backwards":         {hello(), request(2), request(1)},
		"no operation":             {hello(), wire.Frame(wire.KindRequest, 0, 1, []byte{99})},
		"data before its call":     {hello(), wire.Frame(wire.KindData, 0, 5, []byte("x"))},
		"a cancel before its call": {hello(), wire.Frame(wire.KindCancel, 0, 5, nil)},
		"two ends":                 {hello(), request(1), wire.Frame(wire.KindEnd, 0, 1, nil), wire.Frame(wire.KindEnd, 0, 1, nil)},
		"data after the end":       {hello(), request(1), wire.Frame(wire.KindEnd, 0, 1, nil), wire.Frame(wire.KindData, 0, 1, []byte("x"))},
		"an agent's kind":          {hello(), wire.Frame(wire.KindResult, 0, 1, ok)},
	} {
		if _, err := run(input...); err == nil {
			if name == "two ends" || name == "data after the end" {
				continue // the call may be over by then, and then it is nothing
			}
			t.Errorf("%s: it was taken", name)
		}
	}
}

func TestFramesForACallThatIsOverAreNothing(t *testing.T) {
	t.Parallel()
	in, host := io.Pipe()
	agent, out := io.Pipe()
	s := serve.New(in, out, func(c *serve.Call) { c.Finish(ok) })
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(); err != nil {
			t.Error(err)
		}
		_ = out.Close()
	})
	results := make(chan struct{}, 10)
	running.Go(func() {
		for {
			var b [wire.HeaderSize]byte
			if _, err := io.ReadFull(agent, b[:]); err != nil {
				return
			}
			h, _ := wire.ParseHeader(b[:], wire.Agent)
			_, _ = io.CopyN(io.Discard, agent, int64(h.Length))
			if h.Kind == wire.KindResult {
				results <- struct{}{}
			}
		}
	})
	_, _ = host.Write(hello())
	_, _ = host.Write(request(1))
	<-results
	for _, frame := range [][]byte{
		wire.Frame(wire.KindData, 0, 1, make([]byte, 1000)), wire.CreditFrame(1, 1, 5), wire.Frame(wire.KindEnd, 0, 1, nil), wire.Frame(wire.KindCancel, 0, 1, nil),
	} {
		_, _ = host.Write(frame)
	}
	_, _ = host.Write(request(2))
	<-results
	_ = host.Close()
	running.Wait()
	s.Wait()
}

// checkOutput holds what an agent says to what a host takes.
func checkOutput(t *testing.T, out []byte) {
	t.Helper()
	over := map[uint64]bool{}
	for first := true; len(out) > 0; first = false {
		h, err := wire.ParseHeader(out, wire.Agent)
		if err != nil || int(h.Length) > len(out)-wire.HeaderSize || first != (h.Kind == wire.KindHello) || over[h.Call] {
			t.Fatalf("the agent sent %x: %v", out[:min(len(out), 40)], err)
		}
		over[h.Call] = h.Kind == wire.KindResult
		out = out[wire.HeaderSize+int(h.Length):]
	}
}

// FuzzAgent feeds the agent's side bytes as they come.
func FuzzAgent(f *testing.F) {
	f.Add(bytes.Join([][]byte{request(1), wire.Frame(wire.KindData, 0, 1, []byte("x")), wire.Frame(wire.KindEnd, 0, 1, nil)}, nil))
	f.Add(bytes.Join([][]byte{request(1), wire.CreditFrame(1, 1, 100), wire.Frame(wire.KindCancel, 0, 1, nil), request(2)}, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, _ := run(hello(), b)
		checkOutput(t, out)
	})
}

// FuzzAgentFrames makes well-formed frames of its input, in any order.
func FuzzAgentFrames(f *testing.F) {
	f.Add([]byte{2, 1, 0, 4, 1, 9, 5, 1, 0, 6, 1, 3, 3, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		frames := [][]byte{hello()}
		for ; len(b) >= 3 && len(frames) < 100; b = b[3:] {
			call := uint64(b[1]%4) + 1
			switch kind := wire.Kind(b[0]%8 + 1); kind {
			case wire.KindRequest:
				frames = append(frames, request(call))
			case wire.KindData:
				frames = append(frames, wire.Frame(kind, 0, call, make([]byte, 1+int(b[2])<<10)))
			case wire.KindCredit:
				frames = append(frames, wire.CreditFrame(1+b[2]%2, call, 1+uint32(b[2])<<12))
			case wire.KindCancel, wire.KindEnd:
				frames = append(frames, wire.Frame(kind, 0, call, nil))
			default:
				frames = append(frames, wire.Frame(kind, b[2]%4, call, binary.BigEndian.AppendUint32(nil, uint32(b[2]))))
			}
		}
		out, err := run(frames...)
		checkOutput(t, out)
		if err != nil && !errors.Is(err, wire.ErrMalformed) && !errors.Is(err, flow.ErrOverrun) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v", err)
		}
	})
}
