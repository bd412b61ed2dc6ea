// Package flow holds the two ends of a stream between a host and its agent: a
// [Ring] where bytes arrive and a [Credit] from which they leave. A sender sends
// only what it has credit for, and a receiver grants only what its ring has room
// for, so that neither a flooding program nor a slow reader holds up another
// stream or grows memory.
package flow

import (
	"errors"
	"io"
	"sync"
)

// ErrOverrun is for a sender that sends more than it was granted.
var ErrOverrun = errors.New("more bytes than were granted")

// ErrStopped is what a wait answers when its stop channel closed first.
var ErrStopped = errors.New("stopped waiting")

// A buffer is small, or large from a pool: a stream of more than a few bytes is
// usually one of many.
const (
	smallSize = 8 << 10
	largeSize = 1 << 20
)

var large = sync.Pool{New: func() any { return new([largeSize]byte) }}

// Ring is where the bytes of one stream wait for their reader. One goroutine
// puts bytes in ([Ring.Room], [Ring.Commit], [Ring.End]), one takes them out
// ([Ring.Next], [Ring.Advance]); no lock is held while either moves bytes. Its
// memory follows what is in it, up to its limit.
type Ring struct {
	mu        sync.Mutex
	buf       []byte // its length is a power of two
	head      uint64 // of all bytes, how many were taken out
	tail      uint64 // and how many were put in
	limit     int
	granted   int // taken out and not yet granted again
	end       error
	abandoned bool
	wake      chan struct{}
}

// NewRing makes a ring of at most limit bytes.
func NewRing(limit int) *Ring {
	return &Ring{limit: limit, wake: make(chan struct{}, 1)}
}

func (r *Ring) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Room answers where the next n bytes go; [Ring.Commit] follows. Both are nil when
// nobody reads any more and the bytes are to be thrown away.
func (r *Ring) Room(n int) (first, second []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	held := int(r.tail - r.head)
	switch {
	case n > r.limit-held:
		return nil, nil, ErrOverrun
	case r.abandoned:
		r.tail += uint64(n)
		return nil, nil, nil
	case r.end != nil:
		return nil, nil, ErrOverrun
	}
	r.grow(held + n)
	at := int(r.tail % uint64(len(r.buf)))
	if at+n <= len(r.buf) {
		return r.buf[at : at+n], nil, nil
	}
	return r.buf[at:], r.buf[:at+n-len(r.buf)], nil
}

// grow makes the buffer hold that much. The old one stays as it is for a reader
// that is still looking at it.
func (r *Ring) grow(want int) {
	if want <= len(r.buf) {
		return
	}
	grown := newBuffer(want)
	size := len(grown)
	for at := r.head; at < r.tail; {
		from := r.buf[at%uint64(len(r.buf)):]
		from = from[:min(uint64(len(from)), r.tail-at)]
		to := grown[at%uint64(size):]
		at += uint64(copy(to, from))
	}
	r.buf = grown
}

func newBuffer(want int) []byte {
	size := smallSize
	if want > smallSize {
		size = largeSize
	}
	for size < want {
		size *= 2
	}
	if size == largeSize {
		if b, ok := large.Get().(*[largeSize]byte); ok {
			return b[:]
		}
	}
	return make([]byte, size)
}

// release gives the buffer back once nobody looks at it: all was read, and the
// end is the one that the putting goroutine itself found.
func (r *Ring) release() {
	if len(r.buf) == largeSize && errors.Is(r.end, io.EOF) {
		large.Put((*[largeSize]byte)(r.buf))
	}
	r.buf = nil
}

// Commit makes n bytes of the room that was answered last readable.
func (r *Ring) Commit(n int) {
	r.mu.Lock()
	r.tail += uint64(n)
	r.mu.Unlock()
	r.signal()
}

// End says that nothing follows: with io.EOF, by the goroutine that puts bytes in,
// because all has come; by anybody with another error because it will not. The
// first one counts, and it answers whether it was this.
func (r *Ring) End(err error) bool {
	r.mu.Lock()
	first := r.end == nil
	if first {
		r.end = err
	}
	r.mu.Unlock()
	r.signal()
	return first
}

// Abandon says that nobody reads any more; a wait ends with [ErrStopped]. The
// memory is given back; what still comes is counted against the limit and thrown
// away.
func (r *Ring) Abandon() {
	r.mu.Lock()
	r.abandoned, r.buf = true, nil
	r.mu.Unlock()
	r.signal()
}

// Next waits for bytes and answers some of them, which stay valid until
// [Ring.Advance]. After the last it answers what [Ring.End] was told.
func (r *Ring) Next(stop <-chan struct{}) ([]byte, error) {
	for {
		r.mu.Lock()
		held, end := r.tail-r.head, r.end
		if r.abandoned {
			r.mu.Unlock()
			return nil, ErrStopped
		}
		if held > 0 {
			at := r.head % uint64(len(r.buf))
			segment := r.buf[at:min(at+held, uint64(len(r.buf)))]
			r.mu.Unlock()
			return segment, nil
		}
		if end != nil {
			r.release()
			r.mu.Unlock()
			return nil, end
		}
		r.mu.Unlock()
		select {
		case <-r.wake:
		case <-stop:
			return nil, ErrStopped
		}
	}
}

// Advance takes n bytes out and answers how much credit is to be granted now:
// zero until it is worth a frame.
func (r *Ring) Advance(n int) (grant int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.head += uint64(n)
	r.granted += n
	if r.end != nil || r.granted < r.limit/4 {
		return 0
	}
	grant, r.granted = r.granted, 0
	return grant
}
