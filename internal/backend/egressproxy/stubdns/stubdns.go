// Package stubdns asks the configured name servers for the addresses of a name,
// and nothing else: no hosts file, no search list, no other naming service, no
// cache. The resolver of package net reads the hosts file for rooted names as
// well, so that an entry there would decide where a sandbox connects to.
//
// It follows what RFC 1035 asks of a stub: it trusts its servers to follow
// aliases, and takes only answers to the question that it asked. It validates no
// DNSSEC and judges no address. Start with [Resolver].
package stubdns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sync/errgroup"
)

// Resolver looks names up. The zero value asks nobody and fails; its fields are
// not changed while it is used.
type Resolver struct {
	// Servers are asked in order until one answers.
	Servers []netip.AddrPort
	// Timeout bounds one question to one server; 0 is 2 seconds.
	Timeout time.Duration
	// Attempts is how often each server is asked; 0 is 2.
	Attempts int
	// Dial opens the connection to a server, "udp" or "tcp"; nil is the host's own
	// network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// ErrNoAddress is returned where the servers answered and there is no address.
var ErrNoAddress = errors.New("the name has no address")

// ErrNoAnswer is returned where no server gave an answer.
var ErrNoAnswer = errors.New("no name server answered")

const (
	defaultTimeout  = 2 * time.Second
	defaultAttempts = 2
)

// LookupNetIP gives the addresses of a rooted name, which ends in a dot: IPv4
// first. network is "ip", "ip4" or "ip6". Both families are asked at once; one that
// cannot be had does not fail the other, but a server that answers for neither
// does.
func (r *Resolver) LookupNetIP(ctx context.Context, network, rooted string) ([]netip.Addr, error) {
	name, err := dnsmessage.NewName(rooted)
	if err != nil || rooted == "" || rooted[len(rooted)-1] != '.' {
		return nil, fmt.Errorf("look up a name: %w", ErrNoAddress)
	}
	types := map[string][]dnsmessage.Type{
		"ip": {dnsmessage.TypeA, dnsmessage.TypeAAAA}, "ip4": {dnsmessage.TypeA}, "ip6": {dnsmessage.TypeAAAA},
	}[network]
	answers := make([][]netip.Addr, len(types))
	failures := make([]error, len(types))
	var group errgroup.Group
	for i, kind := range types {
		group.Go(func() error {
			answers[i], failures[i] = r.ask(ctx, name, kind)
			return nil
		})
	}
	group.Wait() //nolint:errcheck // each question keeps its own error
	var all []netip.Addr
	for _, a := range answers {
		all = append(all, a...)
	}
	if len(all) > 0 {
		return all, nil
	}
	for _, err := range failures {
		if err != nil && !errors.Is(err, ErrNoAddress) {
			return nil, fmt.Errorf("look up a name: %w", err)
		}
	}
	return nil, fmt.Errorf("look up a name: %w", ErrNoAddress)
}

// ask puts one question to the servers in turn.
func (r *Resolver) ask(ctx context.Context, name dnsmessage.Name, kind dnsmessage.Type) ([]netip.Addr, error) {
	attempts := r.Attempts
	if attempts <= 0 {
		attempts = defaultAttempts
	}
	last := ErrNoAnswer
	for range attempts {
		for _, server := range r.Servers {
			addrs, err := r.exchange(ctx, server.String(), name, kind)
			if err == nil || errors.Is(err, ErrNoAddress) {
				return addrs, err
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			last = fmt.Errorf("%w: %w", ErrNoAnswer, err)
		}
	}
	return nil, last
}

// exchange asks one server, over TCP where the answer does not fit.
func (r *Resolver) exchange(ctx context.Context, server string, name dnsmessage.Name, kind dnsmessage.Type) ([]netip.Addr, error) {
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	for _, network := range []string{"udp", "tcp"} {
		addrs, err := r.over(ctx, network, server, timeout, name, kind)
		if !errors.Is(err, errTruncated) {
			return addrs, err
		}
	}
	return nil, errTruncated
}

func (r *Resolver) over(ctx context.Context, network, server string, timeout time.Duration, name dnsmessage.Name, kind dnsmessage.Type) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dial := r.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, network, server)
	if err != nil {
		return nil, fmt.Errorf("reach a name server: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // a closed connection is stopped as well
	defer stop()
	if network == "tcp" {
		return overStream(conn, name, kind)
	}
	return overDatagrams(conn, name, kind)
}
