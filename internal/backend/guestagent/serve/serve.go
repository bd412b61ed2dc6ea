// Package serve is the agent's side of the protocol: it takes frames apart, runs a
// handler for each call and gives it the call's streams. It knows nothing of what
// is asked, so that the protocol is tested without running a program.
//
// The host is trusted, and held to its bounds all the same: what it could not have
// meant ends the session.
//
// Read [Session] and [Call].
package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// MaxCalls is how many calls may be open at once.
const MaxCalls = 4096

// Handler answers one call. It ends with exactly one [Call.Finish].
type Handler func(c *Call)

// Session is one run of the protocol.
type Session struct {
	r      *bufio.Reader
	handle Handler

	out   sync.Mutex
	w     io.Writer
	broke error // the first failed write, under out

	mu    sync.Mutex
	calls map[uint64]*Call
	last  uint64
	done  sync.WaitGroup
}

// New makes a session over the two pipes.
func New(r io.Reader, w io.Writer, handle Handler) *Session {
	return &Session{r: bufio.NewReaderSize(r, 64<<10), w: w, handle: handle, calls: map[uint64]*Call{}}
}

// Run answers calls until the host closes its end, which is nil, or something
// cannot go on. Every call is cancelled when it returns; [Session.Wait] waits for
// their handlers.
func (s *Session) Run() error {
	err := s.greet()
	for err == nil {
		err = s.next()
	}
	s.mu.Lock()
	for _, c := range s.calls {
		c.cancel()
		c.in.End(io.ErrUnexpectedEOF)
	}
	s.mu.Unlock()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Wait returns when no handler runs any more.
func (s *Session) Wait() { s.done.Wait() }

func (s *Session) greet() error {
	if err := s.send(wire.Frame(wire.KindHello, 0, 0, wire.Hello())); err != nil {
		return err
	}
	h, err := s.header()
	if err != nil {
		return err
	}
	if h.Kind != wire.KindHello {
		return fmt.Errorf("%w: kind %d before the first frame", wire.ErrMalformed, h.Kind)
	}
	payload, err := s.payload(h)
	if err != nil {
		return err
	}
	return wire.CheckHello(payload)
}

func (s *Session) header() (wire.Header, error) {
	var b [wire.HeaderSize]byte
	if _, err := io.ReadFull(s.r, b[:]); err != nil {
		return wire.Header{}, err
	}
	return wire.ParseHeader(b[:], wire.Host)
}

// payload is for every kind but data: its length was checked and is small.
func (s *Session) payload(h wire.Header) ([]byte, error) {
	payload := make([]byte, h.Length)
	_, err := io.ReadFull(s.r, payload)
	return payload, whole(err)
}

// whole makes an end in the middle of a frame an error.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *Session) next() error {
	h, err := s.header()
	if err != nil {
		return err
	}
	switch h.Kind {
	case wire.KindRequest:
		return s.begin(h)
	case wire.KindHello:
		return fmt.Errorf("%w: a second hello", wire.ErrMalformed)
	}
	s.mu.Lock()
	c, known := s.calls[h.Call], h.Call <= s.last
	s.mu.Unlock()
	switch {
	case !known:
		return fmt.Errorf("%w: kind %d for a call that never began", wire.ErrMalformed, h.Kind)
	case c == nil:
		// The call ended while the frame was on its way.
		_, err := s.r.Discard(int(h.Length))
		return whole(err)
	}
	return s.deliver(c, h)
}

func (s *Session) begin(h wire.Header) error {
	request, err := s.payload(h)
	if err != nil {
		return err
	}
	op, message, err := wire.SplitRequest(request)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if h.Call <= s.last || len(s.calls) >= MaxCalls {
		s.mu.Unlock()
		return fmt.Errorf("%w: a call that cannot begin", wire.ErrMalformed)
	}
	c := newCall(s, h.Call, op, message)
	s.calls[h.Call], s.last = c, h.Call
	s.mu.Unlock()
	s.done.Go(func() { s.handle(c) })
	return nil
}

func (s *Session) deliver(c *Call, h wire.Header) error {
	switch h.Kind {
	case wire.KindCancel:
		c.cancel()
		return nil
	case wire.KindEnd:
		if !c.in.End(io.EOF) {
			return fmt.Errorf("%w: a stream that ends twice", wire.ErrMalformed)
		}
		return nil
	case wire.KindCredit:
		payload, err := s.payload(h)
		if err != nil {
			return err
		}
		n, err := wire.ParseCredit(payload)
		if err != nil {
			return err
		}
		return c.out[h.Stream].Give(n)
	default:
		return s.data(c, int(h.Length))
	}
}

func (s *Session) data(c *Call, n int) error {
	first, second, err := c.in.Room(n)
	if err != nil {
		return err
	}
	if first == nil {
		_, err := s.r.Discard(n)
		return whole(err)
	}
	if _, err := io.ReadFull(s.r, first); err != nil {
		return whole(err)
	}
	if _, err := io.ReadFull(s.r, second); err != nil {
		return whole(err)
	}
	c.in.Commit(n)
	return nil
}

// send writes one whole frame. After a failed write nothing is sent any more.
func (s *Session) send(frame []byte) error {
	s.out.Lock()
	defer s.out.Unlock()
	if s.broke == nil {
		_, s.broke = s.w.Write(frame)
	}
	return s.broke
}

func (s *Session) forget(id uint64) {
	s.mu.Lock()
	delete(s.calls, id)
	s.mu.Unlock()
}
