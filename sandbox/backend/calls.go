package backend

import (
	"context"
	"fmt"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// calls counts what is in flight so that closing can wait for it.
type calls struct {
	mu      sync.Mutex
	n       int
	closing bool
	idle    chan struct{}
}

// enter starts a call; leave ends it and may be called more than once.
func (c *calls) enter() (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil, sandbox.Finding{
			Code: sandbox.CodeBackendClosed, Found: "a call after Close",
			Required: "an open backend", Remedy: "make a new backend",
		}.Refusal(nil)
	}
	c.n++
	return sync.OnceFunc(c.leave), nil
}

func (c *calls) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	if c.n == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// drain refuses new calls and waits for the others.
func (c *calls) drain(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	if c.n == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle, n := c.idle, c.n
	c.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing with %d calls in flight: %w", n, context.Cause(ctx))
	}
}
