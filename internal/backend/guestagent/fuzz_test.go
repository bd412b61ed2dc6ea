package guestagent_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// said is an agent that has said that much and then nothing. It says it once the
// host has begun its calls.
type said struct {
	hello, rest io.Reader
	begun       <-chan struct{}
	closed      chan struct{}
	once        sync.Once
}

func (s *said) Read(p []byte) (int, error) {
	if n, err := s.hello.Read(p); n > 0 {
		return n, err
	}
	select {
	case <-s.begun:
	case <-s.closed:
		return 0, io.ErrClosedPipe
	}
	return s.rest.Read(p)
}

func (s *said) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// heard counts the requests that it hears.
type heard struct {
	mu    sync.Mutex
	left  int
	begun chan struct{}
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for rest := p; len(rest) >= wire.HeaderSize; {
		header, err := wire.ParseHeader(rest, wire.Host)
		if err != nil {
			break
		}
		if header.Kind == wire.KindRequest {
			if h.left--; h.left == 0 {
				close(h.begun)
			}
		}
		rest = rest[min(len(rest), wire.HeaderSize+int(header.Length)):]
	}
	return len(p), nil
}

func (h *heard) Close() error { return nil }

// play runs one of each call against an agent that says that, and wants every one
// to end.
func play(t *testing.T, rest []byte) {
	t.Helper()
	begun := make(chan struct{})
	ear := &heard{left: 8, begun: begun}
	mouth := &said{
		hello: bytes.NewReader(wire.Frame(wire.KindHello, 0, 0, wire.Hello())), rest: bytes.NewReader(rest), begun: begun, closed: make(chan struct{}),
	}
	c, err := guestagent.Connect(t.Context(), mouth, ear, guestagent.Options{Answer: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, do := range calls(c) {
		all.Go(func() { _ = do(ctx) })
	}
	<-c.Done() // at the end of what is said, if not before
	all.Wait()
	if ctx.Err() != nil {
		t.Error("a call outlived its agent")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzHost feeds the host's side bytes as they come.
func FuzzHost(f *testing.F) {
	f.Add(wire.Frame(wire.KindResult, 0, 1, wire.Exit{Code: 1}.Result()))
	f.Add(wire.Frame(wire.KindData, wire.StreamOut, 2, []byte("x")))
	f.Add(wire.CreditFrame(wire.StreamIn, 3, 100))
	f.Fuzz(play)
}

// FuzzHostFrames makes well-formed frames of its input, in any order.
func FuzzHostFrames(f *testing.F) {
	f.Add([]byte{4, 1, 9, 6, 1, 3, 7, 2, 0, 8, 1, 0, 8, 2, 1, 8, 3, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		results := [][]byte{
			wire.Outcome{Status: wire.StatusOK}.Result(), wire.Exit{Code: 3}.Result(), wire.Info{Kind: wire.EntryFile, Size: 9}.Result(),
			wire.Outcome{Status: wire.StatusNoSpace, Errno: 28}.Result(), wire.Outcome{Status: wire.StatusCancelled}.Result(),
		}
		var said []byte
		for ; len(b) >= 3; b = b[3:] {
			call := uint64(b[1]%9) + 1
			switch kind := wire.Kind(b[0]%8 + 1); kind {
			case wire.KindData:
				said = append(said, wire.Frame(kind, 1+b[2]%2, call, wire.AppendEntry(nil, wire.Info{Kind: wire.EntryFile}, string(make([]byte, 1+int(b[2])<<4))))...)
			case wire.KindCredit:
				said = append(said, wire.CreditFrame(wire.StreamIn, call, 1+uint32(b[2])<<12)...)
			case wire.KindReply, wire.KindResult:
				said = append(said, wire.Frame(kind, 0, call, results[int(b[2])%len(results)])...)
			default:
				if b[2] == 0 { // seldom, since it ends everything
					said = append(said, wire.Frame(kind, 0, call, binary.BigEndian.AppendUint32(nil, uint32(b[2])))...)
				}
			}
		}
		play(t, said)
	})
}

var _ engine.Execer = (*guestagent.Client)(nil)
