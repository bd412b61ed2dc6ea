package guestagent

import (
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// outbox writes frames, one goroutine for all calls, so that no call waits in a
// write that its context could not end. What is in it is bounded by its callers:
// one request and one cancellation a call, two chunks a sender, one credit a
// stream.
type outbox struct {
	mu    sync.Mutex
	queue []item
	wake  chan struct{}
}

// item is one frame. A credit is made into one at the last moment, with all that
// was added to it meanwhile; written, where set, is told that the frame's bytes
// are free again.
type item struct {
	frame   []byte
	credit  *pendingCredit
	written chan<- []byte
}

// pendingCredit is what one stream is still to be granted.
type pendingCredit struct {
	call   uint64
	stream uint8
	n      uint32 // under the outbox's lock
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

func (o *outbox) post(i item) {
	o.mu.Lock()
	o.queue = append(o.queue, i)
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) grant(p *pendingCredit, n int) {
	o.mu.Lock()
	if p.n == 0 {
		o.queue = append(o.queue, item{credit: p})
	}
	p.n += uint32(n)
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take answers what is to be written and leaves spare for what comes meanwhile.
func (o *outbox) take(spare []item) []item {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.queue
	o.queue = spare
	for i, one := range taken {
		if p := one.credit; p != nil {
			taken[i].frame = wire.CreditFrame(p.stream, p.call, p.n)
			p.n = 0
		}
	}
	return taken
}

// run writes until the client is done.
func (o *outbox) run(c *Client) {
	var spare []item
	for {
		batch := o.take(spare[:0])
		if err := writeAll(c, batch); err != nil {
			c.lose(err)
			return
		}
		clear(batch)
		spare = batch
		if len(batch) > 0 {
			continue
		}
		select {
		case <-o.wake:
		case <-c.done:
			return
		}
	}
}

// gathered is how many bytes of small frames are written at once.
const gathered = 32 << 10

func writeAll(c *Client, batch []item) error {
	var small []byte
	flush := func() error {
		if len(small) == 0 {
			return nil
		}
		_, err := c.w.Write(small)
		small = small[:0]
		return err
	}
	for _, one := range batch {
		if len(batch) > 1 && len(one.frame) < gathered/4 {
			small = append(small, one.frame...)
		} else {
			if err := flush(); err != nil {
				return err
			}
			if _, err := c.w.Write(one.frame); err != nil {
				return err
			}
		}
		if len(small) >= gathered {
			if err := flush(); err != nil {
				return err
			}
		}
		if one.written != nil {
			one.written <- one.frame
		}
	}
	return flush()
}
