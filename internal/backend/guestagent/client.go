package guestagent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/flow"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// Client is the host's end. Its methods are called concurrently; each returns
// soon after its context ends, whatever the agent does. They are the file plane
// of [engine.Guest] for {guest, beneath} and [engine.Execer].
type Client struct {
	r       io.ReadCloser
	w       io.WriteCloser
	options Options
	slots   chan struct{}
	out     *outbox
	greeted chan struct{}
	done    chan struct{}
	running sync.WaitGroup

	mu    sync.Mutex
	err   error // why done is closed
	calls map[uint64]*call
	last  uint64
}

func newClient(r io.ReadCloser, w io.WriteCloser, options Options) *Client {
	return &Client{
		r: r, w: w, options: options,
		slots: make(chan struct{}, options.Calls), out: newOutbox(),
		greeted: make(chan struct{}), done: make(chan struct{}), calls: map[uint64]*call{},
	}
}

// Done is closed when the agent is lost or the client closed.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why [Client.Done] is closed, with [ErrLost] or [ErrClosed] under it,
// and is nil before.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends every call and closes the pipes, upon which the agent ends. It waits
// for the client's own work only, and may be called again.
func (c *Client) Close() error {
	c.end(ErrClosed)
	c.running.Wait()
	return nil
}

// lose is for what no agent does, and for pipes that break.
func (c *Client) lose(why error) {
	c.end(fmt.Errorf("%w: %w", ErrLost, why))
}

func (c *Client) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	for _, one := range c.calls {
		one.end(err)
	}
	clear(c.calls)
	// Both only fail when closed already.
	_ = c.w.Close()
	_ = c.r.Close()
}

// receive reads frames until the agent is lost. It never waits for a call: what a
// call has no room for, the agent had no leave to send.
func (c *Client) receive() {
	in := bufio.NewReaderSize(c.r, 64<<10)
	err := c.greeting(in)
	for err == nil {
		err = c.next(in)
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it closed its pipe")
	}
	c.lose(err)
}

func (c *Client) greeting(in *bufio.Reader) error {
	h, err := readHeader(in)
	if err != nil {
		return err
	}
	if h.Kind != wire.KindHello {
		return fmt.Errorf("%w: kind %d before the first frame", wire.ErrMalformed, h.Kind)
	}
	payload, err := readPayload(in, h)
	if err != nil {
		return err
	}
	if err := wire.CheckHello(payload); err != nil {
		return err
	}
	close(c.greeted)
	return nil
}

func readHeader(in io.Reader) (wire.Header, error) {
	var b [wire.HeaderSize]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return wire.Header{}, err
	}
	return wire.ParseHeader(b[:], wire.Agent)
}

// readPayload is for every kind but data: its length was checked and is small.
func readPayload(in io.Reader, h wire.Header) ([]byte, error) {
	payload := make([]byte, h.Length)
	_, err := io.ReadFull(in, payload)
	return payload, err
}

func (c *Client) next(in *bufio.Reader) error {
	h, err := readHeader(in)
	if err != nil {
		return err
	}
	c.mu.Lock()
	to := c.calls[h.Call]
	c.mu.Unlock()
	if to == nil {
		return fmt.Errorf("%w: kind %d for no call", wire.ErrMalformed, h.Kind)
	}
	if h.Kind == wire.KindData {
		return receiveData(in, to.in[h.Stream], int(h.Length))
	}
	payload, err := readPayload(in, h)
	if err != nil {
		return err
	}
	switch h.Kind {
	case wire.KindCredit:
		n, err := wire.ParseCredit(payload)
		if err != nil {
			return err
		}
		return to.grant(n)
	case wire.KindReply:
		return to.replied(payload)
	case wire.KindResult:
		c.mu.Lock()
		delete(c.calls, h.Call)
		c.mu.Unlock()
		to.finish(payload)
		return nil
	}
	return fmt.Errorf("%w: kind %d after the first frame", wire.ErrMalformed, h.Kind)
}

func receiveData(in *bufio.Reader, ring *flow.Ring, n int) error {
	if ring == nil {
		return fmt.Errorf("%w: data on a stream that nobody opened", wire.ErrMalformed)
	}
	first, second, err := ring.Room(n)
	if err != nil {
		return err
	}
	if first == nil {
		_, err := in.Discard(n)
		return err
	}
	if _, err := io.ReadFull(in, first); err != nil {
		return err
	}
	if _, err := io.ReadFull(in, second); err != nil {
		return err
	}
	ring.Commit(n)
	return nil
}

// begin sends a request, once there is a slot for it.
func (c *Client) begin(ctx context.Context, request []byte, shape shape) (*call, error) {
	if len(request) > wire.MaxRequest {
		return nil, ErrTooLong
	}
	if ctx.Err() != nil {
		return nil, queued(ctx)
	}
	select {
	case c.slots <- struct{}{}:
	case <-c.done:
		return nil, c.Err()
	case <-ctx.Done():
		return nil, queued(ctx)
	}
	one := newCall(c, shape)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		one.end(c.Err())
		return nil, c.Err()
	}
	c.last++
	one.id = c.last
	c.calls[one.id] = one
	// Under the lock, since the agent takes calls in the order of their numbers.
	c.out.post(item{frame: wire.Frame(wire.KindRequest, 0, one.id, request)})
	c.mu.Unlock()
	return one, nil
}
