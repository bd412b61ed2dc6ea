package egress

import "net/netip"

// specialRanges are what a name may not resolve to, beside [blockedRanges]: the
// rest of the IANA special-purpose registries of both families (RFC 6890 and what
// was registered since), with their deprecated ranges.
var specialRanges = [...]blockedRange{
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address inside a provider's network"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved for protocols"},
	{netip.MustParsePrefix("192.0.2.0/24"), "reserved for documentation"},
	{netip.MustParsePrefix("192.31.196.0/24"), "a sink for lookups of private addresses"},
	{netip.MustParsePrefix("192.52.193.0/24"), "a relay for multicast"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay between IPv6 and IPv4"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("192.175.48.0/24"), "a sink for lookups of private addresses"},
	{netip.MustParsePrefix("198.18.0.0/15"), "reserved for measurements"},
	{netip.MustParsePrefix("198.51.100.0/24"), "reserved for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "reserved for documentation"},
	{netip.MustParsePrefix("2001::/23"), "reserved for protocols"},
	{netip.MustParsePrefix("2001:db8::/32"), "reserved for documentation"},
	{netip.MustParsePrefix("2002::/16"), "6to4, which leads to an IPv4 address"},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "a sink for lookups of private addresses"},
	{netip.MustParsePrefix("3fff::/20"), "reserved for documentation"},
}

// globalUnicast is all of IPv6 that IANA allocates from. What lies outside it is
// special, or nobody's.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// SpecialAddress reports whether a name may not resolve to an address, and why: it
// is [BlockedAddress], or private, shared, reserved or a way into another family.
// A rule that names the address itself may open it; a rule that names a host never
// does, since whoever answers for the name chooses the address.
func SpecialAddress(addr netip.Addr) (why string, special bool) {
	if why, blocked := BlockedAddress(addr); blocked {
		return why, true
	}
	if addr.Is4In6() {
		return "an IPv4 address in an IPv6 form", true
	}
	addr = addr.WithZone("")
	for _, s := range specialRanges {
		if s.prefix.Contains(addr) {
			return s.why, true
		}
	}
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return "outside the addresses that IPv6 gives to hosts", true
	}
	return "", false
}
