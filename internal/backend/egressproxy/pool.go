package egressproxy

import "fmt"

// Pool bounds what several proxies use together. Make one with [NewPool]; it holds
// nothing that has to be closed.
type Pool struct {
	connections, requests, handshakes, multiplexed, uploads, lookups, dials chan struct{}
}

// NewPool makes a pool.
func NewPool(limits PoolLimits) (*Pool, error) {
	l, err := limits.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("make a pool of egress proxies: %w", err)
	}
	room := func(n int) chan struct{} { return make(chan struct{}, n) }
	return &Pool{room(l.Connections), room(l.Requests), room(l.Handshakes), room(l.Multiplexed), room(l.Uploads), room(l.Lookups), room(l.Dials)}, nil
}

// gates are where one sandbox has to wait.
type gates struct{ connections, requests, handshakes, multiplexed, uploads, lookups, dials gate }

func (p *Pool) gates(l Limits) gates {
	return gates{
		connections: newGate(l.Connections, p.connections),
		requests:    newGate(l.Requests, p.requests),
		handshakes:  newGate(l.Handshakes, p.handshakes),
		multiplexed: newGate(l.Multiplexed, p.multiplexed),
		uploads:     newGate(l.Uploads, p.uploads),
		lookups:     newGate(l.Lookups, p.lookups),
		dials:       newGate(l.Dials, p.dials),
	}
}
