package guestagent

import (
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// sender sends a call's stream to the agent. It has two chunks, so that one is
// filled while the other is written, and no more, however slow the agent is.
type sender struct {
	call *call
	free chan []byte
	made int
}

const senderChunks = 2

var chunkPool = sync.Pool{New: func() any { return new([wire.HeaderSize + wire.MaxChunk]byte) }}

func newSender(k *call) *sender {
	return &sender{call: k, free: make(chan []byte, senderChunks)}
}

// chunk waits for a free one: its payload goes behind room for the header. It is
// false when the call is over.
func (s *sender) chunk() ([]byte, bool) {
	select {
	case b := <-s.free:
		return b[:cap(b)], true
	default:
	}
	if s.made < senderChunks {
		if b, ok := chunkPool.Get().(*[wire.HeaderSize + wire.MaxChunk]byte); ok {
			s.made++
			return b[:], true
		}
	}
	select {
	case b := <-s.free:
		return b[:cap(b)], true
	case <-s.call.over:
		return nil, false
	}
}

// send sends the first n bytes of the chunk's payload.
func (s *sender) send(chunk []byte, n int) {
	s.call.credit.Spend(n)
	wire.Header{Length: uint32(n), Kind: wire.KindData, Stream: wire.StreamIn, Call: s.call.id}.Put(chunk)
	s.call.client.out.post(item{frame: chunk[:wire.HeaderSize+n], written: s.free})
}

func (s *sender) end() {
	s.call.client.out.post(item{frame: wire.Frame(wire.KindEnd, wire.StreamIn, s.call.id, nil)})
}

// release gives the chunks back that are free already.
func (s *sender) release() {
	for {
		select {
		case b := <-s.free:
			if whole := b[:cap(b)]; len(whole) == wire.HeaderSize+wire.MaxChunk {
				chunkPool.Put((*[wire.HeaderSize + wire.MaxChunk]byte)(whole))
			}
		default:
			return
		}
	}
}
