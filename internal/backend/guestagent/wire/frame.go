// Package wire is what travels between a host and the agent in its guest: frames
// over two pipes, and the messages in them. Both sides are built from it. It
// moves no byte itself and knows neither files nor programs.
//
// Each side decodes strictly: a kind, a stream or a length that the sender could
// not have meant is an error, and nothing is allocated on the word of a header
// before it is checked against the bounds of this package.
//
// Read [Header] first, then [Exec] and [File] for what can be asked.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Version is in the first frame of each side; they must agree exactly, since the
// host brings the agent along.
const Version = 2

// The bounds of payloads, in bytes. MaxRequest is above what Linux takes as
// arguments and environment together.
const (
	HeaderSize = 16
	MaxChunk   = 256 << 10
	MaxRequest = 4 << 20
	MaxResult  = 8 << 10 // a link's target is the longest thing to say
	MaxCredit  = 1 << 20
	// FirstCredit is what a host may send of a call's stream before it is granted
	// any, so that what is small needs no answer first.
	FirstCredit = 64 << 10
)

// Kind says what a frame is for.
type Kind uint8

const (
	// KindHello is the first frame of each side and only that: [Hello].
	KindHello Kind = iota + 1
	// KindRequest begins a call, host to agent: an [Op] and its message.
	KindRequest
	// KindCancel asks the agent to end a call early. It is answered by the
	// call's result all the same.
	KindCancel
	// KindData carries bytes of one of the call's streams, at least one.
	KindData
	// KindEnd says that the stream to the agent has no more bytes. Those to the
	// host end with the call.
	KindEnd
	// KindCredit lets the other side send that many more bytes of a stream.
	KindCredit
	// KindReply is what the agent can say before the call's streams.
	KindReply
	// KindResult ends a call, agent to host. Nothing of the call follows it.
	KindResult
)

// Side is one end of the pipes.
type Side uint8

const (
	Host Side = iota + 1
	Agent
)

// The streams of a call. The first goes to the agent, the others come from it.
const (
	StreamIn  uint8 = iota // standard input, a file's new content
	StreamOut              // standard output, a file's content, a directory's entries
	StreamErr              // standard error
	Streams
)

// Header stands in front of every payload: length, kind, stream, two zero bytes
// and the call, big-endian.
type Header struct {
	Length uint32
	Kind   Kind
	Stream uint8
	Call   uint64
}

// Put writes the header to the first [HeaderSize] bytes of b.
func (h Header) Put(b []byte) {
	binary.BigEndian.PutUint32(b, h.Length)
	b[4], b[5], b[6], b[7] = byte(h.Kind), h.Stream, 0, 0
	binary.BigEndian.PutUint64(b[8:], h.Call)
}

// ErrMalformed is under every error about a frame or a message.
var ErrMalformed = errors.New("malformed frame")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

// ParseHeader reads the first [HeaderSize] bytes of b as a frame that from sent.
func ParseHeader(b []byte, from Side) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, malformed("a header of %d bytes", len(b))
	}
	h := Header{
		Length: binary.BigEndian.Uint32(b), Kind: Kind(b[4]), Stream: b[5],
		Call: binary.BigEndian.Uint64(b[8:]),
	}
	if b[6] != 0 || b[7] != 0 {
		return Header{}, malformed("reserved bytes that are not zero")
	}
	return h, h.check(from)
}

func (h Header) check(from Side) error {
	shortest, longest, ok := h.Kind.bounds(from)
	switch {
	case !ok:
		return malformed("kind %d from the wrong side", h.Kind)
	case h.Length < shortest || h.Length > longest:
		return malformed("kind %d with %d bytes", h.Kind, h.Length)
	case (h.Kind == KindHello) != (h.Call == 0):
		return malformed("kind %d for call %d", h.Kind, h.Call)
	case !h.streamFits(from):
		return malformed("kind %d on stream %d", h.Kind, h.Stream)
	}
	return nil
}

// bounds answers how long a payload of the kind may be, and whether that side
// sends it at all.
func (k Kind) bounds(from Side) (shortest, longest uint32, ok bool) {
	switch k {
	case KindHello:
		return helloSize, helloSize, true
	case KindRequest:
		return 1, MaxRequest, from == Host
	case KindCancel, KindEnd:
		return 0, 0, from == Host
	case KindData:
		return 1, MaxChunk, true
	case KindCredit:
		return 4, 4, true
	case KindReply, KindResult:
		return 1, MaxResult, from == Agent
	}
	return 0, 0, false
}

func (h Header) streamFits(from Side) bool {
	toAgent := h.Stream == StreamIn
	toHost := h.Stream == StreamOut || h.Stream == StreamErr
	switch h.Kind {
	case KindData, KindEnd:
		return from == Host && toAgent || from == Agent && toHost
	case KindCredit:
		return from == Agent && toAgent || from == Host && toHost
	default:
		return h.Stream == 0
	}
}

// Frame is a whole frame with that payload.
func Frame(kind Kind, stream uint8, call uint64, payload []byte) []byte {
	b := make([]byte, HeaderSize, HeaderSize+len(payload))
	Header{Length: uint32(len(payload)), Kind: kind, Stream: stream, Call: call}.Put(b)
	return append(b, payload...)
}

// CreditFrame grants n bytes.
func CreditFrame(stream uint8, call uint64, n uint32) []byte {
	return Frame(KindCredit, stream, call, binary.BigEndian.AppendUint32(nil, n))
}

// ParseCredit reads the payload of a credit: between one byte and [MaxCredit].
func ParseCredit(payload []byte) (int, error) {
	if len(payload) != 4 {
		return 0, malformed("a credit of %d bytes", len(payload))
	}
	n := binary.BigEndian.Uint32(payload)
	if n == 0 || n > MaxCredit {
		return 0, malformed("a credit for %d bytes", n)
	}
	return int(n), nil
}
