package acasapi

import (
	"context"
	"fmt"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Wait bounds how long something may take to reach the state that is waited for.
type Wait struct {
	// Limit is zero for the operation's own; a deadline of the context applies
	// beside it.
	Limit time.Duration
	// Progress hears of every look, with the state that was found. It is called on
	// the caller's goroutine.
	Progress func(state string, elapsed time.Duration)
}

// polling is how one kind of object is watched: how often, for how long, and as
// what it is spoken of.
type polling struct {
	first, most time.Duration
	limit       time.Duration
	object      string
	goal        string
}

func (w Wait) within(p polling) polling {
	if w.Limit > 0 {
		p.limit = w.Limit
	}
	return p
}

// poll looks at once and then ever less often, until look is done or fails. Looks
// are spread by jitter, so that many clients do not look together.
func (c *Client) poll(ctx context.Context, w Wait, p polling, look func(context.Context) (done bool, state string, err error)) error {
	p = w.within(p)
	pace := pace{first: p.first, most: p.most, jitter: c.cfg.Jitter}
	began := c.cfg.Clock.Now()
	for try := 1; ; try++ {
		done, state, err := look(ctx)
		if err != nil {
			return &laterError{err}
		}
		elapsed := c.cfg.Clock.Now().Sub(began)
		if w.Progress != nil {
			w.Progress(state, elapsed)
		}
		if done {
			return nil
		}
		wait := pace.wait(try)
		if elapsed+wait > p.limit {
			return refusal(sandbox.CodeServiceTimeout, p.object, word(state)+" after "+elapsed.Round(time.Second).String(),
				p.goal+" within "+p.limit.String(), "give it more time, or look at what the service says of it")
		}
		if err := c.cfg.Clock.Sleep(ctx, wait); err != nil {
			return fmt.Errorf("%s, waiting until it is %s: %w", p.object, p.goal, err)
		}
	}
}
