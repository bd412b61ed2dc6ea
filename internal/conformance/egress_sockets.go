package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/visit"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// egressSockets are the ways out that pass no proxy.
func egressSockets() Suite {
	return Suite{Name: "EGRESS_SOCKETS", Gate: sandbox.CapabilityExec, Probes: confined([]Probe{
		{Name: "no-connection-goes-past-the-proxy", Shows: shows(sandbox.GuaranteeMetadataDenied, sandbox.GuaranteeIPLiteralDenied), Run: connections},
		{Name: "no-datagram-leaves", Shows: shows(sandbox.GuaranteeUDPDenied), Run: datagrams},
		{Name: "no-other-transport-leaves", Run: otherTransports},
		{Name: "no-other-family-of-sockets", Run: func(ctx context.Context, s *Scene) error { return s.attack(ctx, "sockets") }},
		{Name: "the-proxy-speaks-for-its-own-sandbox-alone", Run: ownDoor},
	})}
}

// still checks that the proxy is there beside whatever is refused: a sandbox
// without any network proves nothing about an allowlist.
func (s *Scene) still(ctx context.Context) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	if err := s.calls(ctx, answered(absolute(goodHost, "/"))); err != nil {
		return fmt.Errorf("beside it: %w", err)
	}
	return nil
}

// connections listens on every address of this machine, and hands out where the
// world's own servers really are.
func connections(ctx context.Context, s *Scene) error {
	if err := s.still(ctx); err != nil {
		return err
	}
	targets := []string{"tcp 169.254.169.254:80", "tcp 168.63.129.16:80", "tcp [fd00:ec2::254]:80", "tcp 192.0.2.1:80", "tcp [2001:db8::1]:443"}
	listening := 0
	for _, place := range s.subject.internet.Places() {
		targets = append(targets, "tcp "+place)
	}
	for _, address := range addresses() {
		var where net.ListenConfig
		l, err := where.Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			continue
		}
		s.cleanup = append(s.cleanup, func() { _ = l.Close() })
		if err := reachable(ctx, "tcp", l.Addr().String()); err != nil {
			return err
		}
		targets = append(targets, "tcp "+l.Addr().String())
		listening++
	}
	if listening == 0 {
		return notShown("nothing on this machine could listen")
	}
	return s.attack(ctx, append([]string{"network"}, targets...)...)
}

// reachable is the premise that this machine reaches its own listeners.
func reachable(ctx context.Context, network, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return notShown("this machine does not reach its own listener: %v", err)
	}
	if network == "udp" {
		_, err = conn.Write([]byte("from the host"))
	}
	return errors.Join(err, conn.Close())
}

// datagrams listens likewise. That the host's own datagram comes is the premise.
func datagrams(ctx context.Context, s *Scene) error {
	if err := s.still(ctx); err != nil {
		return err
	}
	// Where nothing holds it, what is sent is heard by nobody: port 9 discards.
	targets := []string{"udp 169.254.169.254:53", "udp 192.0.2.1:443", "udp [2001:db8::1]:53", "udp 255.255.255.255:9", "udp 224.0.0.251:9", "udp [ff02::1]:9"}
	received := make(chan string, 64)
	listening := 0
	for _, address := range addresses() {
		var where net.ListenConfig
		p, err := where.ListenPacket(ctx, "udp", net.JoinHostPort(address, "0"))
		if err != nil {
			continue
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			listen(p, received)
		}()
		s.cleanup = append(s.cleanup, func() { _ = p.Close(); <-ended })
		if err := reachable(ctx, "udp", p.LocalAddr().String()); err != nil {
			return err
		}
		select {
		case <-received:
		case <-ctx.Done():
			return notShown("this machine's own datagram did not come")
		}
		targets = append(targets, "udp "+p.LocalAddr().String())
		listening++
	}
	if listening == 0 {
		return notShown("nothing on this machine could listen")
	}
	err := s.attack(ctx, append([]string{"network"}, targets...)...)
	select {
	case where := <-received:
		err = errors.Join(fmt.Errorf("a datagram came to %s", where), err)
	default:
	}
	return err
}

// otherTransports aims at addresses of this machine, beside its loopback: a
// sandbox has a loopback of its own.
func otherTransports(ctx context.Context, s *Scene) error {
	if err := s.still(ctx); err != nil {
		return err
	}
	args := []string{"overland", "169.254.169.254:80"}
	for _, address := range addresses() {
		if addr, err := netip.ParseAddr(address); err == nil && !addr.IsLoopback() {
			args = append(args, netip.AddrPortFrom(addr, 80).String())
		}
	}
	return s.attack(ctx, args...)
}

// ownDoor has a sandbox without a network beside this one, whose proxy it must not
// find.
func ownDoor(ctx context.Context, s *Scene) error {
	if err := s.still(ctx); err != nil {
		return err
	}
	other, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) {
		r.Key.Thread += "/closed"
		r.Spec.Egress = sandbox.Egress{Mode: sandbox.EgressClosed}
	})
	if err != nil {
		return err
	}
	// It finds none, whatever its programs are told.
	order := visit.Order{Milliseconds: visitBound, Visits: []visit.Visit{said(absolute(goodHost, "/"))}}
	outcomes, err := other.order(ctx, order, "http_proxy=http://127.0.0.1:3128", "HTTP_PROXY=http://127.0.0.1:3128")
	if err != nil {
		return err
	}
	if outcomes[0].Bytes > 0 || outcomes[0].Done > 0 {
		return fmt.Errorf("a sandbox whose network is closed reached a proxy: %s", heard(outcomes[0]))
	}
	return nil
}
