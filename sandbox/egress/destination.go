package egress

import "net/netip"

// Opens reports whether some method and some path would be admitted at the
// destination of a request, whose own method and path do not count. Where a
// connection is not admitted as a whole and its destination is open, requests have
// to be looked at one by one.
func (s *Set) Opens(r Request) bool {
	for _, z := range s.covering(r) {
		for _, m := range z.members {
			if portsContain(s.rules[m].ports, r.Port) {
				return true
			}
		}
	}
	return false
}

// Near is a rule whose host pattern covers the destination of a request, the most
// specific one, and of several about that host one that has the port; nil where
// none covers it. It names what a refused request came closest to.
func (s *Set) Near(r Request) *Rule {
	zones := s.covering(r)
	if len(zones) == 0 {
		return nil
	}
	nearest := zones[len(zones)-1]
	if r.Addr.IsValid() { // addresses are walked from the inside out
		nearest = zones[0]
	}
	near := nearest.members[0]
	for _, m := range nearest.members {
		if portsContain(s.rules[m].ports, r.Port) {
			near = m
			break
		}
	}
	return &s.rules[near]
}

// covering are the zones whose patterns cover the host of a request.
func (s *Set) covering(r Request) []*zone {
	switch {
	case s == nil, r.Port == 0, r.Host != "" && r.Addr.IsValid():
		return nil
	case r.Addr.IsValid():
		if r.Addr.Is4In6() || r.Addr.Zone() != "" {
			return nil
		}
		return s.around(Host{kind: hostAddress, prefix: netip.PrefixFrom(r.Addr, r.Addr.BitLen())}, nil)
	case !validName(r.Host):
		return nil
	default:
		return s.around(Host{kind: hostExact, name: r.Host}, nil)
	}
}
