package egress

import (
	"net/netip"
	"strings"
)

// blockedRange is a range that no rule opens.
type blockedRange struct {
	prefix netip.Prefix
	why    string
}

// blockedRanges are the destinations that are refused when dialled, whatever the
// rules say: the host itself, its link, its cloud's metadata service, and what is
// no single destination. Private ranges are not among them: an address rule opens
// those. IANA special-purpose registries of RFC 6890; metadata addresses as
// documented by the clouds that use them. The service addresses of one cloud stand
// together: what serves names and time there also tells who the host is.
var blockedRanges = [...]blockedRange{
	{netip.MustParsePrefix("0.0.0.0/8"), "this host"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, where cloud metadata is served"},
	{netip.MustParsePrefix("100.100.100.200/32"), "cloud metadata"},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud metadata"},
	{netip.MustParsePrefix("192.0.0.192/32"), "cloud metadata"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved, with the broadcast address"},
	{netip.MustParsePrefix("::/127"), "this host"},
	{netip.MustParsePrefix("::/96"), "an IPv4 address in a form that nothing routes"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local translation, which may lead to any IPv4 address"},
	{netip.MustParsePrefix("2001::/32"), "Teredo, which leads to an IPv4 address"},
	{netip.MustParsePrefix("fe80::/10"), "link-local, where cloud metadata is served"},
	{netip.MustParsePrefix("fd00:ec2::23/128"), "cloud metadata"},
	{netip.MustParsePrefix("fd00:ec2::123/128"), "cloud metadata"},
	{netip.MustParsePrefix("fd00:ec2::253/128"), "cloud metadata"},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "cloud metadata"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "cloud metadata"},
	{netip.MustParsePrefix("fd00:42::42/128"), "cloud metadata"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// blockedDomains are those of which no name leads to a host that a rule could open.
var blockedDomains = [...]struct{ name, why string }{
	{"localhost", "loopback"},
	{"invalid", "a name that is never anybody's (RFC 6761 6.4)"},
	{"onion", "a name that is never looked up in the DNS (RFC 7686)"},
	{"alt", "a name that is never looked up in the DNS (RFC 9476)"},
}

// AlwaysBlocked reports whether a rule for the host can never take effect: all
// that the pattern covers is refused when dialled, whatever the rules say. why
// names the reason, such as "loopback". In a list of what must never be reached
// such a pattern is welcome.
//
// Names are judged only as far as their spelling decides: localhost and
// everything below it is loopback (RFC 6761 6.3), and what is kept out of the DNS
// for good is nobody's, so that an answer for it is a lie of whoever gives it. Names
// that a network may have for itself, such as those below internal and local, are
// not among them, nor are those for examples and tests.
func (h Host) AlwaysBlocked() (why string, blocked bool) {
	switch h.kind {
	case hostExact, hostWildcard:
		for _, d := range &blockedDomains {
			if below, ok := strings.CutSuffix(h.name, d.name); ok && (below == "" || below[len(below)-1] == '.') {
				return d.why, true
			}
		}
	case hostAddress:
		return blockedPrefix(h.prefix)
	}
	return "", false
}

// BlockedAddress reports whether an address is refused when dialled, whatever the
// rules say, and why. An IPv6 address that carries an IPv4 address (mapped, NAT64
// under 64:ff9b::/96, 6to4) is judged as that one.
func BlockedAddress(addr netip.Addr) (why string, blocked bool) {
	if !addr.IsValid() {
		return "no address", true
	}
	addr = addr.WithZone("")
	return blockedPrefix(netip.PrefixFrom(addr, addr.BitLen()))
}

// CarriedAddress is the IPv4 address that an IPv6 address carries (mapped, NAT64 under
// 64:ff9b::/96, 6to4), and whether it carries one.
func CarriedAddress(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	addr = addr.WithZone("")
	v4 := carried(netip.PrefixFrom(addr, addr.BitLen())).Addr()
	return v4, v4.Is4()
}

// CarriesAddresses reports whether the pattern is of addresses that each carry an IPv4
// address, see [CarriedAddress].
func (h Host) CarriesAddresses() bool {
	return h.kind == hostAddress && h.prefix.Addr().Is6() && carried(h.prefix).Addr().Is4()
}

func blockedPrefix(p netip.Prefix) (string, bool) {
	p = carried(p)
	for _, b := range blockedRanges {
		if b.prefix.Bits() <= p.Bits() && b.prefix.Contains(p.Addr()) {
			return b.why, true
		}
	}
	return "", false
}

// carried is the IPv4 range that an IPv6 range carries, or the range itself.
func carried(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4() {
		return p
	}
	b := p.Addr().As16()
	skip := 0 // bits before the IPv4 address
	switch {
	case p.Addr().Is4In6(), netip.MustParsePrefix("64:ff9b::/96").Contains(p.Addr()):
		skip = 96
	case netip.MustParsePrefix("2002::/16").Contains(p.Addr()):
		skip = 16
	default:
		return p
	}
	if p.Bits() < skip {
		return p
	}
	v4 := netip.AddrFrom4([4]byte(b[skip/8 : skip/8+4]))
	return netip.PrefixFrom(v4, min(p.Bits()-skip, v4.BitLen()))
}
