package flow

import "sync"

// Credit is what may still be sent of one stream.
type Credit struct {
	mu     sync.Mutex
	left   int
	limit  int
	closed bool
	wake   chan struct{}
}

// NewCredit begins with that much of at most limit bytes.
func NewCredit(left, limit int) *Credit {
	return &Credit{left: left, limit: limit, wake: make(chan struct{}, 1)}
}

func (c *Credit) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Give adds what the other side granted. More than the limit at once is
// [ErrOverrun].
func (c *Credit) Give(n int) error {
	c.mu.Lock()
	if n > c.limit-c.left {
		c.mu.Unlock()
		return ErrOverrun
	}
	c.left += n
	c.mu.Unlock()
	c.signal()
	return nil
}

// Wait answers how many of want bytes may be sent, at least one. The one sender
// then says with [Credit.Spend] how many it did send.
func (c *Credit) Wait(want int, stop <-chan struct{}) (int, error) {
	for {
		c.mu.Lock()
		left, closed := c.left, c.closed
		c.mu.Unlock()
		switch {
		case closed:
			return 0, ErrStopped
		case left > 0:
			return min(left, want), nil
		}
		select {
		case <-c.wake:
		case <-stop:
			return 0, ErrStopped
		}
	}
}

// Spend takes n bytes of what [Credit.Wait] answered.
func (c *Credit) Spend(n int) {
	c.mu.Lock()
	c.left -= n
	c.mu.Unlock()
}

// Close ends every wait.
func (c *Credit) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.signal()
}
