package egresstrial

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// unroutable expects the guest's kernel to have no way to an address.
func (c client) unroutable(ctx context.Context, network string, to netip.AddrPort) error {
	err := c.connects(ctx, network, to)
	switch {
	case err == nil:
		return fmt.Errorf("there is a way to %s over %s that is not the proxy", to, network)
	case errors.Is(err, ErrNotConnected):
		return nil
	default:
		return fmt.Errorf("not tried: %w", err)
	}
}

// connects expects the guest's kernel to have one.
func (c client) connects(ctx context.Context, network string, to netip.AddrPort) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	conn, err := c.guest.Dial(ctx, network, to)
	if err != nil {
		return err
	}
	return conn.Close()
}

// unheard expects the internet to know nothing of a host: nobody asked for its
// name, and nobody connected to where it is.
func (c client) unheard(host string) error {
	if c.world.count(func() int { return c.world.asked[host] }) > 0 {
		return errors.New("the name was looked up")
	}
	if addr, ok := c.world.addresses[host]; ok {
		return c.undialed(addr)
	}
	return nil
}

func (c client) undialed(addr netip.Addr) error {
	if c.dials(addr) > 0 {
		return errors.New("the server was connected to")
	}
	return nil
}

func (c client) dials(addr netip.Addr) int {
	return c.world.count(func() int { return c.world.dialed[addr] })
}

// unasked expects no request to have come that begins so.
func (c client) unasked(request string) error {
	n := c.world.count(func() (n int) {
		for r, times := range c.world.heard {
			if strings.HasPrefix(r, request) {
				n += times
			}
		}
		return n
	})
	if n > 0 {
		return errors.New("the server was asked")
	}
	return nil
}
