package guestagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/flow"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// shape says which streams a call has: the size of each window, zero for none.
type shape struct {
	in       int // from the host
	out, err int // to the host
	replies  bool
}

// call is one request until its result.
type call struct {
	client  *Client
	id      uint64
	shape   shape
	credit  *flow.Credit // of what goes to the agent
	in      [wire.Streams]*flow.Ring
	pending [wire.Streams]*pendingCredit
	reply   chan []byte // holds one
	over    chan struct{}

	mu      sync.Mutex
	result  []byte
	err     error
	isOver  bool
	hasSaid bool
}

func newCall(c *Client, s shape) *call {
	one := &call{client: c, shape: s, reply: make(chan []byte, 1), over: make(chan struct{})}
	if s.in > 0 {
		one.credit = flow.NewCredit(wire.FirstCredit, s.in)
	}
	for stream, window := range map[uint8]int{wire.StreamOut: s.out, wire.StreamErr: s.err} {
		if window > 0 {
			one.in[stream] = flow.NewRing(window)
		}
	}
	return one
}

// grant takes the agent's leave to send more.
func (k *call) grant(n int) error {
	if k.credit == nil {
		return fmt.Errorf("%w: credit for a stream that nobody opened", wire.ErrMalformed)
	}
	return k.credit.Give(n)
}

func (k *call) replied(payload []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.shape.replies || k.hasSaid {
		return fmt.Errorf("%w: a reply that nobody waits for", wire.ErrMalformed)
	}
	k.hasSaid = true
	k.reply <- payload
	return nil
}

// finish is the agent's result, end the loss of the agent. Whichever is first
// frees the call's slot.
func (k *call) finish(result []byte) { k.conclude(result, nil, io.EOF) }
func (k *call) end(err error)        { k.conclude(nil, err, err) }

func (k *call) conclude(result []byte, err, streams error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isOver {
		return
	}
	// Who sees the end of a stream must see the result, which says whether the
	// stream is whole.
	k.isOver, k.result, k.err = true, result, err
	close(k.over)
	if k.credit != nil {
		k.credit.Close()
	}
	for _, ring := range k.in {
		if ring != nil {
			ring.End(streams)
		}
	}
	<-k.client.slots
}

// answer is what the call ended with, once it is over.
func (k *call) answer() ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.result, k.err
}

// wait returns the result. When ctx ends first the call is cancelled, and the
// agent has its time to say how it ended.
func (k *call) wait(ctx context.Context) ([]byte, error) {
	select {
	case <-k.over:
		return k.answer()
	case <-ctx.Done():
	}
	return k.cancel(ctx)
}

// cancel asks the agent to end the call and waits for its answer, for as long as
// the options say. Without one the error is ctx's.
func (k *call) cancel(ctx context.Context) ([]byte, error) {
	k.client.out.post(item{frame: wire.Frame(wire.KindCancel, 0, k.id, nil)})
	patience, stop := context.WithTimeout(context.WithoutCancel(ctx), k.client.options.StopGrace+k.client.options.Answer)
	defer stop()
	select {
	case <-k.over:
		return k.answer()
	case <-patience.Done():
		k.abandon()
		return nil, errors.Join(ErrUnanswered, context.Cause(ctx))
	}
}

// abandon lets go of what the call may still be sent. The agent's result frees
// its slot.
func (k *call) abandon() {
	for _, ring := range k.in {
		if ring != nil {
			ring.Abandon()
		}
	}
	if k.credit != nil {
		k.credit.Close()
	}
}
