package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"time"
)

// held is what it takes a contender to hold many tunnels open.
type held struct {
	who string
	// memory is the process's before, with all tunnels open, after they were used,
	// and after they were closed.
	memory      [4]int64
	descriptors [3]int // before, after they were used, and after they were closed
	median, p99 time.Duration
}

// usesEach is how often each tunnel is used, with usesBytes there and back.
const (
	usesEach  = 3
	usesBytes = 64 << 10
)

// holds holds many tunnels open, one contender after the other.
func (b *bench) holds(ctx context.Context, p *page) error {
	for _, process := range b.processes {
		fmt.Fprintf(os.Stderr, "%d tunnels: %s\n", b.options.tunnels, process.name)
		h, err := b.hold(ctx, process)
		if err != nil {
			return fmt.Errorf("%d tunnels of %s: %w", b.options.tunnels, process.name, err)
		}
		p.held = append(p.held, h)
	}
	return nil
}

func (b *bench) hold(ctx context.Context, process *process) (h held, err error) {
	h.who = process.name
	var conns []net.Conn
	shut := func() {
		for _, conn := range conns {
			conn.Close()
		}
	}
	defer shut()
	note := func(i int) {
		if err == nil {
			h.memory[i], err = process.resident()
		}
	}
	note(0)
	if h.descriptors[0], err = process.descriptors(); err != nil {
		return h, err
	}
	buf := make([]byte, usesBytes)
	for range b.options.tunnels {
		conn, err := b.client.open(ctx, process.name, pouringHost)
		if err != nil {
			return h, err
		}
		conns = append(conns, conn)
		if err := echoed(conn, buf[:4]); err != nil {
			return h, err
		}
	}
	note(1)
	var taken []time.Duration
	for range usesEach {
		for _, conn := range conns {
			began := time.Now()
			if err := echoed(conn, buf[:4]); err != nil {
				return h, err
			}
			taken = append(taken, time.Since(began))
			if err := echoed(conn, buf); err != nil {
				return h, err
			}
		}
	}
	slices.Sort(taken)
	h.median, h.p99 = quantile(taken, 0.5), quantile(taken, 0.99)
	note(2)
	if h.descriptors[1], err = process.descriptors(); err != nil {
		return h, err
	}
	shut()
	if err := settle(ctx, process, h.descriptors[0], &h.descriptors[2]); err != nil {
		return h, err
	}
	note(3)
	return h, err
}

// settle waits until a process has closed what it had opened, or for a while.
func settle(ctx context.Context, process *process, before int, now *int) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if *now, err = process.descriptors(); err != nil || *now <= before {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil // what is left stands in the table
		}
	}
}
