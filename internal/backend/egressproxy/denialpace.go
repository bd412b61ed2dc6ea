package egressproxy

import (
	"context"

	"golang.org/x/time/rate"
)

// denialPace holds a sandbox's refusals to a pace, by letting its own connections wait.
// They keep their place among the sandbox's own limits meanwhile, so that what it asks
// for beyond the pace waits at its own socket.
type denialPace struct{ limiter *rate.Limiter }

// paceBurst is which part of a second's refusals may come at once.
const paceBurst = 10

func newDenialPace(perSecond int) denialPace {
	return denialPace{rate.NewLimiter(rate.Limit(perSecond), max(perSecond/paceBurst, 1))}
}

// wait returns when the next refusal may be answered, or when the proxy ends.
func (d denialPace) wait(ctx context.Context) {
	d.limiter.Wait(ctx) //nolint:errcheck // where the proxy ends, it need not be held to a pace
}
