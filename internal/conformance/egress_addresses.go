package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// egressAddresses are which address, however a guest comes by it.
func egressAddresses() Suite {
	wild := rules{"all": rule("*.example.com", "80", "*", "*")}
	return Suite{Name: "EGRESS_ADDRESSES", Gate: sandbox.CapabilityExec, Probes: confined([]Probe{
		{Name: "an-address-that-no-rule-names-is-refused", Shows: shows(sandbox.GuaranteeIPLiteralDenied), Run: literalAddresses},
		{Name: "an-address-rule-admits-its-addresses-alone", Rules: rules{
			"four": rule("11.1.0.0/24", "80", "*", "*"), "six": rule("2606:4700:1::/64", "80", "*", "*"), "private": rule("10.77.0.7", "80", "*", "*"),
		}, Run: addressRules},
		{Name: "metadata-is-refused-whatever-the-rules-say", Shows: shows(sandbox.GuaranteeMetadataDenied), Rules: rules{
			"four": rule("0.0.0.0/0", "80", "*", "*"), "six": rule("::/0", "80", "*", "*"), "meta": rule("168.0.0.0/6", "80", "*", "*"), "name": rule("*.example.com", "80", "*", "*"),
		}, Run: metadata},
		{Name: "a-name-that-leads-to-a-special-address-is-refused", Rules: wild, Run: func(ctx context.Context, s *Scene) error {
			return s.ledAstray(ctx, "alone", func(addr netip.Addr) []netip.Addr { return []netip.Addr{addr} })
		}},
		{Name: "one-special-answer-among-good-ones-refuses-all", Rules: wild, Run: func(ctx context.Context, s *Scene) error {
			good := netip.MustParseAddr(publicAddress)
			return errors.Join(
				s.ledAstray(ctx, "last", func(addr netip.Addr) []netip.Addr { return []netip.Addr{good, addr} }),
				s.ledAstray(ctx, "first", func(addr netip.Addr) []netip.Addr { return []netip.Addr{addr, good} }),
			)
		}},
		{Name: "a-name-that-changes-its-address-is-judged-again", Rules: wild, Run: rebinding},
		{Name: "the-hosts-own-addresses-are-refused", Rules: rules{
			"four": rule("0.0.0.0/0", "80", "*", "*"), "six": rule("::/0", "80", "*", "*"), "name": rule("*.example.com", "80", "*", "*"),
		}, Run: ownAddresses},
	})}
}

// publicAddress is one that names may lead to.
const publicAddress = "11.0.200.9"

// specialAddresses are those that no name may lead to, one of each kind.
var specialAddresses = []string{
	"169.254.169.254", "169.254.170.2", "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "100.100.100.200", "168.63.129.16",
	"192.0.0.192", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "192.88.99.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
	"::1", "::", "::ffff:11.0.0.1", "64:ff9b::b00:1", "64:ff9b:1::1", "2002:b00:1::1", "2001::1", "2001:db8::1", "100::1",
	"fe80::1", "fd00:ec2::254", "fd00::1", "fec0::1", "ff02::1", "3fff::1", "::a9fe:a9fe", "5f00::1", "4000::1",
}

// metadataAddresses answer for the clouds, themselves and in the clothes of IPv6.
var metadataAddresses = []string{
	"169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254",
	"64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
}

func parsed(texts ...string) []netip.Addr {
	addrs := make([]netip.Addr, len(texts))
	for i, text := range texts {
		addrs[i] = netip.MustParseAddr(text)
	}
	return addrs
}

// stand puts servers at addresses and sees that they answer.
func (s *Scene) stand(ctx context.Context, addrs ...netip.Addr) error {
	if err := s.subject.internet.everywhere(addrs...); err != nil {
		return err
	}
	for _, addr := range addrs {
		if err := s.subject.internet.answers(ctx, netip.AddrPortFrom(addr, 80).String()); err != nil {
			return err
		}
	}
	return nil
}

// shut asks for addresses in both ways.
func shut(code sandbox.Code, addrs ...netip.Addr) []call {
	var calls []call
	for _, addr := range addrs {
		authority := netip.AddrPortFrom(addr, 80).String()
		calls = append(calls, denied(absolute(authority, "/"), code), denied(head("CONNECT "+authority+" HTTP/1.1", "Host: "+authority), code))
	}
	return calls
}

func admitted(addrs ...netip.Addr) []call {
	var calls []call
	for _, addr := range addrs {
		calls = append(calls, answered(absolute(netip.AddrPortFrom(addr, 80).String(), "/")))
	}
	return calls
}

func literalAddresses(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	// The good host's own address is not the good host.
	own, err := s.subject.internet.LookupNetIP(ctx, "ip", goodHost+".")
	if err != nil {
		return notShown("%v", err)
	}
	addrs := append(parsed(publicAddress, "1.1.1.1", "2606:4700:2::9"), own...)
	if err := s.stand(ctx, addrs...); err != nil {
		return err
	}
	return s.calls(ctx, append(shut(sandbox.CodeEgressDenied, addrs...), answered(absolute(goodHost, "/")))...)
}

func addressRules(ctx context.Context, s *Scene) error {
	in, out := parsed("11.1.0.1", "11.1.0.255", "2606:4700:1::9", "10.77.0.7"), parsed("11.1.1.0", "11.0.255.255", "2606:4700:1:1::9", "10.77.0.8")
	if err := s.stand(ctx, append(slices.Clone(in), out...)...); err != nil {
		return err
	}
	return s.calls(ctx, append(admitted(in...), shut(sandbox.CodeEgressDenied, out...)...)...)
}

func metadata(ctx context.Context, s *Scene) error {
	addrs, good := parsed(metadataAddresses...), parsed(publicAddress, "10.0.0.1", "fd00::9")
	if err := s.stand(ctx, append(slices.Clone(addrs), good...)...); err != nil {
		return err
	}
	calls := append(admitted(good...), shut(sandbox.CodeEgressAlwaysBlocked, addrs...)...)
	for i, addr := range addrs {
		name := fmt.Sprintf("metadata%d.example.com", i)
		s.subject.internet.Name(name, addr)
		calls = append(calls, denied(absolute(name, "/"), sandbox.CodeEgressAddressRefused))
	}
	s.subject.internet.Forget()
	return errors.Join(s.calls(ctx, calls...), s.undialled(addrs...))
}

// ledAstray names each special address, beside whatever else, and a public one.
func (s *Scene) ledAstray(ctx context.Context, word string, answer func(netip.Addr) []netip.Addr) error {
	addrs := parsed(specialAddresses...)
	if err := s.stand(ctx, append(slices.Clone(addrs), parsed(publicAddress)...)...); err != nil {
		return err
	}
	s.subject.internet.Name("good.example.com", parsed(publicAddress)...)
	calls := []call{answered(absolute("good.example.com", "/"))}
	for i, addr := range addrs {
		name := fmt.Sprintf("%s%d.example.com", word, i)
		s.subject.internet.Name(name, answer(addr)...)
		calls = append(calls, denied(absolute(name, "/"), sandbox.CodeEgressAddressRefused))
	}
	s.subject.internet.Forget()
	return errors.Join(s.calls(ctx, calls...), s.undialled(addrs...))
}

// undialled checks that nobody connected to any of the addresses since the world
// was told to forget.
func (s *Scene) undialled(addrs ...netip.Addr) error {
	var errs []error
	for _, to := range s.subject.internet.Dials() {
		if slices.Contains(addrs, to.Addr()) {
			errs = append(errs, fmt.Errorf("%s was dialled", to))
		}
	}
	return errors.Join(errs...)
}

// rebinding has names whose second answer is the metadata service, the private
// network and the loopback address.
func rebinding(ctx context.Context, s *Scene) error {
	turned := parsed("169.254.169.254", "10.0.0.1", "127.0.0.1", "::1")
	if err := s.stand(ctx, append(slices.Clone(turned), parsed(publicAddress)...)...); err != nil {
		return err
	}
	var first, second []call
	for i, addr := range turned {
		name := fmt.Sprintf("rebind%d.example.com", i)
		s.subject.internet.Answer(name, func(n int) []netip.Addr {
			if n == 0 {
				return parsed(publicAddress)
			}
			return []netip.Addr{addr}
		})
		first = append(first, answered(absolute(name, "/")))
		// A connection that was kept may go on; another one is judged again.
		second = append(second, call{what: "the second time, " + name, visit: said(head("CONNECT "+name+":80 HTTP/1.1", "Host: "+name+":80")), code: sandbox.CodeEgressAddressRefused})
	}
	s.subject.internet.Forget()
	if err := s.calls(ctx, first...); err != nil {
		return err
	}
	for _, name := range s.subject.internet.Lookups() {
		if n := strings.Count(strings.Join(s.subject.internet.Lookups(), " "), name); n != 1 {
			return fmt.Errorf("%s was looked up %d times for one request", name, n)
		}
	}
	return errors.Join(s.calls(ctx, second...), s.undialled(turned...))
}

// ownAddresses has servers at this machine's own addresses, as the world sees them.
func ownAddresses(ctx context.Context, s *Scene) error {
	var own []netip.Addr
	for _, text := range addresses() {
		if addr, err := netip.ParseAddr(text); err == nil && !addr.IsLoopback() {
			own = append(own, addr.Unmap())
		}
	}
	if len(own) == 0 {
		return skip("without an address of this machine beside its loopback")
	}
	good := parsed(publicAddress, "10.77.0.9", "fd00::77:9")
	if err := s.stand(ctx, append(slices.Clone(own), good...)...); err != nil {
		return err
	}
	calls := admitted(good...)
	for i, addr := range own {
		name := fmt.Sprintf("own%d.example.com", i)
		s.subject.internet.Name(name, addr)
		calls = append(calls, denied(absolute(name, "/"), sandbox.CodeEgressAddressRefused),
			denied(absolute(netip.AddrPortFrom(addr, 80).String(), "/"), sandbox.CodeEgressAddressRefused))
	}
	s.subject.internet.Forget()
	return errors.Join(s.calls(ctx, calls...), s.undialled(own...))
}
