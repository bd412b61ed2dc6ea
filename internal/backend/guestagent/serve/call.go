package serve

import (
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/flow"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// Window is how much of a call's incoming stream may be on its way.
const Window = wire.MaxCredit

// Call is one thing that the host asked for.
type Call struct {
	Op      wire.Op
	Message []byte

	s         *Session
	id        uint64
	in        *flow.Ring
	out       [wire.Streams]*flow.Credit
	cancelled chan struct{}
	once      sync.Once
}

func newCall(s *Session, id uint64, op wire.Op, message []byte) *Call {
	c := &Call{Op: op, Message: message, s: s, id: id, in: flow.NewRing(Window), cancelled: make(chan struct{})}
	for stream := range c.out {
		c.out[stream] = flow.NewCredit(0, wire.MaxCredit)
	}
	return c
}

func (c *Call) cancel() { c.once.Do(func() { close(c.cancelled) }) }

// Cancelled is closed when the host no longer wants the call, or is gone.
func (c *Call) Cancelled() <-chan struct{} { return c.cancelled }

// Open gives an outgoing stream the credit that its request came with.
func (c *Call) Open(stream uint8, window uint32) error { return c.out[stream].Give(int(window)) }

// Accept lets the host send more of the incoming stream than its beginning.
func (c *Call) Accept() error {
	return c.s.send(wire.CreditFrame(wire.StreamIn, c.id, Window-wire.FirstCredit))
}

// Next waits for bytes of the incoming stream, valid until [Call.Took]; io.EOF is
// its end. A wait ends when stop does.
func (c *Call) Next(stop <-chan struct{}) ([]byte, error) { return c.in.Next(stop) }

// Took says that n bytes of [Call.Next] were used.
func (c *Call) Took(n int) error {
	if grant := c.in.Advance(n); grant > 0 {
		return c.s.send(wire.CreditFrame(wire.StreamIn, c.id, uint32(grant)))
	}
	return nil
}

// Refuse throws away what the incoming stream still brings.
func (c *Call) Refuse() { c.in.Abandon() }

// Chunk is a buffer for one frame of data, with room for its header in front, so
// that frame and payload leave in one write.
type Chunk struct{ b []byte }

var chunks = sync.Pool{New: func() any { return &Chunk{b: make([]byte, wire.HeaderSize+wire.MaxChunk)} }}

// NewChunk takes one from the pool.
func NewChunk() *Chunk {
	chunk, ok := chunks.Get().(*Chunk)
	if !ok {
		return &Chunk{b: make([]byte, wire.HeaderSize+wire.MaxChunk)}
	}
	return chunk
}

// Payload is where the bytes go, at most n of them.
func (k *Chunk) Payload(n int) []byte { return k.b[wire.HeaderSize:][:min(n, wire.MaxChunk)] }

// Free gives the buffer back.
func (k *Chunk) Free() { chunks.Put(k) }

// Room waits until the host takes bytes of the stream and answers how many of
// want.
func (c *Call) Room(stream uint8, want int, stop <-chan struct{}) (int, error) {
	return c.out[stream].Wait(want, stop)
}

// Send sends the first n bytes of the chunk's payload, for which [Call.Room] must
// have answered.
func (c *Call) Send(stream uint8, chunk *Chunk, n int) error {
	c.out[stream].Spend(n)
	wire.Header{Length: uint32(n), Kind: wire.KindData, Stream: stream, Call: c.id}.Put(chunk.b)
	return c.s.send(chunk.b[:wire.HeaderSize+n])
}

// Reply says what can be said before the streams.
func (c *Call) Reply(payload []byte) error {
	return c.s.send(wire.Frame(wire.KindReply, 0, c.id, payload))
}

// Finish ends the call. Nothing may be sent after it.
func (c *Call) Finish(payload []byte) {
	c.s.forget(c.id)
	c.in.Abandon()
	_ = c.s.send(wire.Frame(wire.KindResult, 0, c.id, payload)) // a host that is gone ends the session
}
