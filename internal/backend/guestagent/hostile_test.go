package guestagent_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// An agent that lies: what it may do to the host is waste a call.

// liar is a client and the pipes that a test plays the agent on.
type liar struct {
	*guestagent.Client
	t    *testing.T
	from *io.PipeReader // what the host sends
	to   *io.PipeWriter
}

func newLiar(t *testing.T, options guestagent.Options) *liar {
	t.Helper()
	hostIn, to := io.Pipe()
	from, hostOut := io.Pipe()
	l := &liar{t: t, from: from, to: to}
	var hello sync.WaitGroup
	hello.Go(func() {
		l.hear()
		l.send(wire.Frame(wire.KindHello, 0, 0, wire.Hello()))
	})
	var err error
	l.Client, err = guestagent.Connect(t.Context(), hostIn, hostOut, options)
	if err != nil {
		t.Fatal(err)
	}
	hello.Wait()
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// hear waits for the next of the host's frames.
func (l *liar) hear() {
	var b [wire.HeaderSize]byte
	if _, err := io.ReadFull(l.from, b[:]); err != nil {
		return
	}
	h, err := wire.ParseHeader(b[:], wire.Host)
	if err != nil {
		l.t.Errorf("the host sent %x: %v", b, err)
	}
	_, _ = io.CopyN(io.Discard, l.from, int64(h.Length))
}

func (l *liar) send(frame []byte) { _, _ = l.to.Write(frame) }

// silent reads all that the host sends and says nothing.
func (l *liar) silent() { go func() { _, _ = io.Copy(io.Discard, l.from) }() }

func anyRef() engine.FileRef {
	return engine.FileRef{Root: "/work", Path: "/work/file", Access: guestagent.Access()}
}

// calls are one of each, with room for what comes of them.
func calls(c *guestagent.Client) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"exec": func(ctx context.Context) error {
			_, err := c.Exec(ctx, engine.ExecRequest{Args: []string{"x"}, Dir: "/", Stdin: strings.NewReader("in")})
			return err
		},
		"stat": func(ctx context.Context) error {
			_, err := c.Stat(ctx, anyRef())
			return err
		},
		"open": func(ctx context.Context) error {
			r, _, err := c.Open(ctx, anyRef())
			if err == nil {
				_, err = io.Copy(io.Discard, r)
				_ = r.Close()
			}
			return err
		},
		"write": func(ctx context.Context) error { return c.Write(ctx, anyRef(), zeroBytes(5<<20), 5<<20) },
		"mkdir": func(ctx context.Context) error { return c.Mkdir(ctx, anyRef()) },
		"list": func(ctx context.Context) error {
			return c.List(ctx, anyRef(), func(engine.Info) bool { return true })
		},
		"remove": func(ctx context.Context) error { return c.Remove(ctx, anyRef(), true) },
		"forward": func(ctx context.Context) error {
			return c.Forward(ctx, guestagent.Forwarding{Port: 1, Socket: "/s"})
		},
	}
}

func zeroBytes(n int) io.Reader { return bytes.NewReader(make([]byte, n)) }

func TestCallsEndWithTheirContextWhateverTheAgentDoes(t *testing.T) {
	t.Parallel()
	for agent, behave := range map[string]func(l *liar){
		"says nothing":      (*liar).silent,
		"reads nothing":     func(*liar) {},
		"floods every call": func(l *liar) { l.silent(); go l.flood() },
	} {
		l := newLiar(t, guestagent.Options{Answer: 20 * time.Millisecond})
		behave(l)
		for name, do := range calls(l.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if err := do(ctx); err == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, guestagent.ErrLost) {
				t.Errorf("an agent that %s: %s: %v", agent, name, err)
			}
			cancel()
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// flood sends what no call asked for.
func (l *liar) flood() {
	for call := uint64(1); l.Err() == nil; call++ {
		if _, err := l.to.Write(wire.Frame(wire.KindData, wire.StreamOut, call%10+1, make([]byte, 1000))); err != nil {
			return
		}
	}
}

func TestSlotsOfCallsThatTheAgentNeverEndsAreNotLent(t *testing.T) {
	t.Parallel()
	l := newLiar(t, guestagent.Options{Calls: 4, Answer: time.Millisecond})
	l.silent()
	for range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := l.Stat(ctx, anyRef()); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := l.Stat(ctx, anyRef()); !errors.Is(err, engine.ErrQueued) {
		t.Errorf("a fifth call: %v", err)
	}
}

func TestFrameThatNoAgentSendsLosesIt(t *testing.T) {
	t.Parallel()
	header := func(h wire.Header) []byte {
		b := make([]byte, wire.HeaderSize)
		h.Put(b)
		return b
	}
	data := func(n int) []byte { return wire.Frame(wire.KindData, wire.StreamOut, 1, make([]byte, n)) }
	credit := func(n uint32) []byte { return wire.CreditFrame(wire.StreamIn, 1, n) }
	ok := wire.Outcome{Status: wire.StatusOK}.Result()
	reserved := data(1)
	reserved[6] = 1
	for name, frames := range map[string][][]byte{
		"no kind":                {header(wire.Header{Kind: 0, Call: 1})},
		"an unknown kind":        {header(wire.Header{Kind: 99, Call: 1})},
		"a host's kind":          {header(wire.Header{Kind: wire.KindCancel, Call: 1})},
		"a host's end":           {header(wire.Header{Kind: wire.KindEnd, Call: 1})},
		"a second hello":         {wire.Frame(wire.KindHello, 0, 0, wire.Hello())},
		"reserved bytes":         {reserved},
		"four gigabytes":         {header(wire.Header{Length: 1<<32 - 1, Kind: wire.KindData, Stream: wire.StreamOut, Call: 1})},
		"more than a chunk":      {header(wire.Header{Length: wire.MaxChunk + 1, Kind: wire.KindData, Stream: wire.StreamOut, Call: 1})},
		"a long result":          {header(wire.Header{Length: wire.MaxResult + 1, Kind: wire.KindResult, Call: 1})},
		"no data":                {header(wire.Header{Kind: wire.KindData, Stream: wire.StreamOut, Call: 1})},
		"data on no stream":      {header(wire.Header{Length: 1, Kind: wire.KindData, Stream: 7, Call: 1})},
		"data on the host's":     {header(wire.Header{Length: 1, Kind: wire.KindData, Stream: wire.StreamIn, Call: 1})},
		"data of no call":        {header(wire.Header{Length: 1, Kind: wire.KindData, Stream: wire.StreamOut, Call: 2})},
		"data of call zero":      {header(wire.Header{Length: 1, Kind: wire.KindData, Stream: wire.StreamOut})},
		"data beyond its window": {data(wire.MaxChunk), data(wire.MaxChunk), data(wire.MaxChunk)},
		"no credit":              {credit(0)},
		"much credit":            {credit(wire.MaxCredit + 1)},
		"credit on credit":       {credit(wire.MaxCredit), credit(wire.MaxCredit)},
		"a reply to an exec":     {wire.Frame(wire.KindReply, 0, 1, ok)},
		"a result of nothing":    {wire.Frame(wire.KindResult, 0, 1, []byte{1})},
		"no such status":         {wire.Frame(wire.KindResult, 0, 1, wire.Outcome{Status: 200}.Result())},
		"a result with more":     {wire.Frame(wire.KindResult, 0, 1, append(wire.Exit{}.Result(), 0))},
		"a result and then data": {wire.Frame(wire.KindResult, 0, 1, wire.Exit{}.Result()), data(1)},
		"two results":            {wire.Frame(wire.KindResult, 0, 1, wire.Exit{}.Result()), wire.Frame(wire.KindResult, 0, 1, wire.Exit{}.Result())},
		"half a frame":           {data(100)[:50], nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLiar(t, guestagent.Options{})
			stuck, goOn := make(chan struct{}), make(chan struct{})
			ended := make(chan error, 1)
			go func() {
				_, err := l.Exec(t.Context(), engine.ExecRequest{
					Args: []string{"x"}, Dir: "/", Stdin: waitingReader{goOn}, Stdout: waitingWriter{stuck, goOn},
				})
				ended <- err
			}()
			l.hear()
			l.silent()
			for _, frame := range frames {
				if frame == nil {
					_ = l.to.Close()
					break
				}
				l.send(frame)
			}
			<-l.Done()
			close(goOn)
			err := <-ended
			if strings.Contains(name, "result") && err == nil {
				err = l.Err()
			}
			if !errors.Is(err, guestagent.ErrLost) || !errors.Is(err, engine.ErrGone) || !errors.Is(l.Err(), guestagent.ErrLost) {
				t.Errorf("%v, %v", err, l.Err())
			}
			if len(err.Error()) > 500 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

type waitingReader struct{ until <-chan struct{} }

func (w waitingReader) Read([]byte) (int, error) {
	<-w.until
	return 0, io.EOF
}

type waitingWriter struct {
	begun chan struct{}
	until <-chan struct{}
}

func (w waitingWriter) Write(p []byte) (int, error) {
	<-w.until
	return len(p), nil
}

func TestEntriesThatNoAgentSendsLoseIt(t *testing.T) {
	t.Parallel()
	entry := wire.AppendEntry(nil, wire.Info{Kind: wire.EntryFile}, "name")
	badKind := bytes.Clone(entry)
	badKind[0] = 9
	noName := wire.AppendEntry(nil, wire.Info{Kind: wire.EntryFile}, "")
	long := bytes.Clone(entry)
	binary.BigEndian.PutUint32(long[9:], wire.MaxName+1)
	negative := bytes.Clone(entry)
	negative[1] = 0x80
	for name, bad := range map[string][]byte{
		"a bad kind": badKind, "no name": noName, "a long name": long, "a negative size": negative, "half": entry[:len(entry)-1], "a little": entry[:3],
	} {
		l := newLiar(t, guestagent.Options{})
		go func() {
			l.hear()
			l.silent()
			l.send(wire.Frame(wire.KindData, wire.StreamOut, 1, append(bytes.Clone(entry), bad...)))
			l.send(wire.Frame(wire.KindResult, 0, 1, wire.Outcome{Status: wire.StatusOK}.Result()))
		}()
		n := 0
		err := l.List(t.Context(), anyRef(), func(engine.Info) bool {
			n++
			return true
		})
		if !errors.Is(err, guestagent.ErrLost) || n != 1 {
			t.Errorf("%s: %v after %d entries", name, err, n)
		}
	}
}

func TestOpenWithoutADescriptionLosesTheAgent(t *testing.T) {
	t.Parallel()
	for name, frame := range map[string][]byte{
		"a result alone":  wire.Frame(wire.KindResult, 0, 1, wire.Outcome{Status: wire.StatusOK}.Result()),
		"a bad reply":     wire.Frame(wire.KindReply, 0, 1, []byte{1}),
		"a negative size": wire.Frame(wire.KindReply, 0, 1, wire.Info{Kind: wire.EntryFile, Size: -1}.Result()),
	} {
		l := newLiar(t, guestagent.Options{})
		go func() {
			l.hear()
			l.silent()
			l.send(frame)
		}()
		if _, _, err := l.Open(t.Context(), anyRef()); !errors.Is(err, guestagent.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGreetingOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	other := wire.Frame(wire.KindHello, 0, 0, wire.Hello())
	other[len(other)-1]++
	for name, said := range map[string][]byte{
		"another version": other, "another protocol": []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "nothing": {}, "a result": wire.Frame(wire.KindResult, 0, 1, []byte{1}),
	} {
		hostIn, to := io.Pipe()
		from, hostOut := io.Pipe()
		go func() { _, _ = io.Copy(io.Discard, from) }()
		go func() {
			_, _ = to.Write(said)
			_ = to.Close()
		}()
		if c, err := guestagent.Connect(t.Context(), hostIn, hostOut, guestagent.Options{}); !errors.Is(err, guestagent.ErrLost) || c != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	hostIn, _ := io.Pipe()
	_, hostOut := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := guestagent.Connect(ctx, hostIn, hostOut, guestagent.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an agent that says nothing: %v", err)
	}
	for name, bad := range map[string]guestagent.Options{
		"calls": {Calls: -1}, "many calls": {Calls: 5000}, "grace": {StopGrace: -1}, "long grace": {StopGrace: 2 * time.Hour}, "answer": {Answer: -1},
	} {
		hostIn, _ := io.Pipe()
		_, hostOut := io.Pipe()
		if _, err := guestagent.Connect(t.Context(), hostIn, hostOut, bad); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
