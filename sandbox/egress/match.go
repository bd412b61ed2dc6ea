package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// Request is one thing a sandbox asks to do.
type Request struct {
	// Host is the name that is asked for, in normal form: [ParseRequestHost] makes
	// it from what stands on the wire. It is empty when Addr is set. A name that is
	// not in normal form matches nothing.
	Host string
	// Addr is the address that is asked for by its number. It is never an IPv4
	// address in IPv6 form and has no zone; one that is or has matches nothing.
	Addr netip.Addr
	// Port is 1 to 65535. 0 matches nothing.
	Port uint16
	// Method is the method as sent. Empty, together with Path, is the connection
	// level: only rules with any method admit it.
	Method string
	// Path is the path as sent, escapes and all, without the query. Empty is
	// admitted only by rules with any path, and so is "*", and any path that two
	// readers may take for two: with dot segments, "//", ";", a backslash, an
	// escaped separator or control character, an escape that is malformed, double
	// or not UTF-8, or a character that does not stand in paths on the wire.
	Path string
}

// Match reports whether some rule admits the request, and gives one that does:
// the one whose host pattern is the most specific, and among the rules of one
// pattern always the same one. Segments of paths are compared byte for byte,
// letter case and escapes included. It allocates nothing.
func (s *Set) Match(r Request) (rule *Rule, ok bool) {
	if s == nil || r.Port == 0 || r.Host != "" && r.Addr.IsValid() {
		return nil, false
	}
	q := query{port: r.Port, method: r.Method, path: r.Path}
	if r.Path != "" {
		_, f := pathFlaw(r.Path)
		q.sound = f == pathSound
	}
	found := none
	switch {
	case r.Host != "":
		if validName(r.Host) {
			found = s.matchName(r.Host, &q)
		}
	case r.Addr.IsValid() && !r.Addr.Is4In6():
		found = s.matchAddr(r.Addr, &q)
	}
	if found == none {
		return nil, false
	}
	return &s.rules[found], true
}

// MatchAll is the positions in [Set.Rules] of all rules that admit the request, in
// their order.
func (s *Set) MatchAll(r Request) []int {
	if _, ok := s.Match(r); !ok {
		return nil
	}
	q := query{port: r.Port, method: r.Method, path: r.Path}
	_, f := pathFlaw(r.Path)
	q.sound = f == pathSound
	var all []int
	for _, z := range s.around(r.host(), nil) {
		for _, m := range z.members {
			f := newFacet(s.rules, []int32{m})
			if portsContain(f.ports, q.port) && f.admit(&q) != none {
				all = append(all, int(m))
			}
		}
	}
	slices.Sort(all)
	return all
}

// AtHost is the positions in [Set.Rules] of all rules whose host covers the
// request's, whatever else they say of it, in their order.
func (s *Set) AtHost(r Request) []int {
	var all []int
	for _, z := range s.around(r.host(), nil) {
		for _, m := range z.members {
			all = append(all, int(m))
		}
	}
	slices.Sort(all)
	return all
}

// host is the pattern of exactly the name or address that is asked for.
func (r Request) host() Host {
	if r.Addr.IsValid() {
		return Host{kind: hostAddress, prefix: netip.PrefixFrom(r.Addr, r.Addr.BitLen())}
	}
	return Host{kind: hostExact, name: r.Host}
}

// matchName asks the name itself and then the wildcards around it, the smallest
// first. The first that admits is the most specific one.
func (s *Set) matchName(name string, q *query) int32 {
	if z, ok := s.exact[name]; ok {
		if r := s.zones[z].admit(q); r != none {
			return r
		}
	}
	if len(s.below) == 0 {
		return none
	}
	for i := range len(name) {
		if name[i] != '.' {
			continue
		}
		if z, ok := s.below[name[i+1:]]; ok {
			if r := s.zones[z].admit(q); r != none {
				return r
			}
		}
	}
	return none
}

func (s *Set) matchAddr(addr netip.Addr, q *query) int32 {
	for i := s.innermost(addr); i != none; i = s.ranges[i].outer {
		if r := s.zones[s.ranges[i].zone].admit(q); r != none {
			return r
		}
	}
	return none
}

// around appends the zones whose patterns cover everything that host covers, the
// widest names first.
func (s *Set) around(host Host, to []*zone) []*zone {
	if s == nil {
		return to
	}
	if host.kind == hostAddress {
		for i := s.innermost(host.prefix.Addr()); i != none; i = s.ranges[i].outer {
			if s.ranges[i].prefix.Bits() <= host.prefix.Bits() {
				to = append(to, &s.zones[s.ranges[i].zone])
			}
		}
		return to
	}
	if len(s.below) > 0 {
		for end := len(host.name); end > 0; {
			start := strings.LastIndexByte(host.name[:end], '.') + 1
			if z, ok := s.below[host.name[start:]]; ok && (start > 0 || host.kind == hostWildcard) {
				to = append(to, &s.zones[z])
			}
			end = start - 1
		}
	}
	if z, ok := s.exact[host.name]; ok && host.kind == hostExact {
		to = append(to, &s.zones[z])
	}
	return to
}
