package egress

import (
	"iter"
	"net/netip"
	"slices"
)

// Within reports whether every request that s admits is admitted by bound. When
// not, the witness is a request that s admits and bound does not; s.Match and
// bound.Match have confirmed it.
//
// The answer is exact. Sets are unions without denials, so each rule of s can be
// held against bound alone, and only at points where bound admits least: for a
// wildcard a name that bound does not mention, for a range an address outside
// bound's smaller ranges, for ports one of each interval on which bound says the
// same, for any method a method that bound does not name, for any path "/", for a
// prefix the prefix itself. Where bound's smaller ranges fill a range, or its
// names everything that fits below a very long suffix, each of them is looked at.
//
// The work is bounded. Should it not be enough, which takes hundreds of rules of
// one host, each of the largest size and unlike the others, the answer is false
// with a zero witness, and so it is should a witness ever fail its confirmation:
// what is not shown is not granted.
func (s *Set) Within(bound *Set) (Witness, bool) {
	for _, w := range s.Beyond(bound) {
		return w, false
	}
	return Witness{}, true
}

// Beyond yields the positions in [Set.Rules] of the rules that are not within the
// bound, in their order, each with a request that the rule admits and the bound
// does not. The bound on the work is one for all of them together: a witness that
// is zero, as [Set.Within] would give it, is the last.
func (s *Set) Beyond(bound *Set) iter.Seq2[int, Witness] {
	return func(yield func(int, Witness) bool) {
		if s == nil {
			return
		}
		var c *coverage
		for i := range s.rules {
			if bound.plainly(&s.rules[i]) {
				continue
			}
			if c == nil {
				c = &coverage{bound: bound}
			}
			w, covered := c.shown(s, &s.rules[i])
			if !covered && (!yield(i, w) || w == Witness{}) {
				return
			}
		}
	}
}

// shown reports whether the bound is shown to admit all that a rule of s does. The
// witness was confirmed or is zero.
func (c *coverage) shown(s *Set, r *Rule) (Witness, bool) {
	if c.err() != nil {
		return Witness{}, false
	}
	w, covered := c.rule(r)
	if covered && c.err() == nil {
		return Witness{}, true
	}
	_, inside := s.Match(w.Request())
	if _, outside := c.bound.Match(w.Request()); !inside || outside {
		return Witness{}, false
	}
	return w, false
}

// plainly reports whether one facet of the set admits all that the rule does. It
// is how nearly every rule that is within a bound is within it, and it allocates
// nothing; what it does not see is looked at point by point.
func (s *Set) plainly(r *Rule) bool {
	if z := s.same(r.host); z != none && s.zones[z].contains(r) {
		return true // a rule of the very host, which most are
	}
	var buffer [8]*zone
	for _, z := range s.around(r.host, buffer[:0]) {
		if z.contains(r) {
			return true
		}
	}
	return false
}

// same is the zone of exactly the host pattern, or none.
func (s *Set) same(host Host) int32 {
	z, ok := none, false
	switch {
	case s == nil:
	case host.kind == hostExact:
		z, ok = s.exact[host.name]
	case host.kind == hostWildcard:
		z, ok = s.below[host.name]
	}
	if !ok {
		return none
	}
	return z
}

// contains reports whether one facet of the zone admits all that the rule does.
// A zone of many facets does not say: its port index is quicker.
func (z *zone) contains(r *Rule) bool {
	if z.byPort != nil {
		return false
	}
	for i := range z.facets {
		if z.facets[i].contains(r) {
			return true
		}
	}
	return false
}

// contains reports whether the facet alone admits every request of a rule whose
// host the facet's zone covers.
func (f *facet) contains(r *Rule) bool {
	for _, ports := range r.ports {
		if !slices.ContainsFunc(f.ports, func(p PortRange) bool { return p.First <= ports.First && ports.Last <= p.Last }) {
			return false
		}
	}
	return f.covers(r)
}

// Equal reports whether both sets admit the same requests.
func (s *Set) Equal(other *Set) bool {
	if _, ok := s.Within(other); !ok {
		return false
	}
	_, ok := other.Within(s)
	return ok
}

// coverage holds rules against a bound. It keeps buffers between points.
type coverage struct {
	steps
	bound  *Set
	zones  []*zone
	facets []*facet // of the port at hand
	before []*facet // of the port before, at the same point
	ports  []uint16
}

// rule reports whether the bound admits all that the rule does, and a request
// that it does not admit otherwise.
func (c *coverage) rule(r *Rule) (Witness, bool) {
	switch r.host.kind {
	case hostNone:
		return Witness{}, true
	case hostExact:
		return c.point(r, r.host)
	case hostWildcard:
		return c.below(r)
	default:
		return c.within(r, r.host.prefix)
	}
}

// below looks at names below a wildcard's suffix until one that the bound does
// not mention: every other name is admitted by at least as much.
func (c *coverage) below(r *Rule) (Witness, bool) {
	for name := range namesBelow(r.host.name) {
		host := Host{kind: hostExact, name: name}
		if w, covered := c.point(r, host); !covered {
			return w, false
		}
		if !c.mentioned(host) {
			return Witness{}, true
		}
	}
	return Witness{}, true
}

// mentioned reports whether the last point had the bound name that host itself.
func (c *coverage) mentioned(host Host) bool {
	return slices.ContainsFunc(c.zones, func(z *zone) bool { return z.host == host })
}

// within looks at one address of a range that lies outside all smaller ranges of
// the bound; where they leave none, at each of the widest of them in turn.
func (c *coverage) within(r *Rule, p netip.Prefix) (Witness, bool) {
	free, inner := c.bound.gap(p)
	if free.IsValid() {
		return c.point(r, Host{kind: hostAddress, prefix: netip.PrefixFrom(free, free.BitLen())})
	}
	for _, q := range inner {
		if w, covered := c.within(r, q); !covered {
			return w, false
		}
	}
	return Witness{}, true
}

// point reports whether the bound admits all that the rule does at one name or
// address.
func (c *coverage) point(r *Rule, host Host) (Witness, bool) {
	c.zones = c.bound.around(host, c.zones[:0])
	c.facets = c.facets[:0]
	for _, ports := range r.ports {
		c.ports = c.ports[:0]
		if ports.contains(httpsPort) {
			c.ports = append(c.ports, httpsPort) // the one people recognise
		}
		c.ports = append(c.ports, ports.First)
		for _, z := range c.zones {
			c.ports = z.cuts(ports, c.ports)
		}
		slices.Sort(c.ports[1:])
		for _, port := range slices.Compact(c.ports) {
			if method, path, covered := c.onPort(r, port); !covered {
				return Witness{Port: port, Method: method, Path: path, Rule: r.name}.at(host), false
			}
		}
	}
	return Witness{}, true
}

// onPort compares methods and paths at one name or address and one port.
func (c *coverage) onPort(r *Rule, port uint16) (method, path string, covered bool) {
	c.before, c.facets = c.facets, c.before[:0]
	for _, z := range c.zones {
		c.facets = z.facetsOn(port, c.facets)
	}
	if !c.take(1 + len(c.facets)*(1+(len(r.methods)+len(r.paths))/16)) { // most facets are done with early
		return "", "", false
	}
	if len(c.facets) > 0 && slices.Equal(c.facets, c.before) {
		return "", "", true // as on the port before, which was covered
	}
	if slices.ContainsFunc(c.facets, func(f *facet) bool { return f.covers(r) }) {
		return "", "", true // most often, one rule of the bound does
	}
	if len(c.facets) == 0 && r.methods == nil && r.paths == nil {
		return "", "", false
	}
	methods, paths := r.methods, r.paths
	if methods == nil {
		methods = []string{c.otherMethod()}
	}
	if paths == nil {
		paths = []string{"/"} // below no prefix
	}
	for _, method := range methods {
		for _, path := range paths {
			if !c.take(len(c.facets)) {
				return "", "", false
			}
			q := query{port: port, method: method, path: path, sound: true}
			if !slices.ContainsFunc(c.facets, func(f *facet) bool { return f.admit(&q) != none }) {
				return method, path, false
			}
		}
	}
	return "", "", true
}

// covers reports whether the facet alone admits every method and path of the
// rule.
func (f *facet) covers(r *Rule) bool {
	if f.methods != nil && (r.methods == nil || slices.ContainsFunc(r.methods, func(m string) bool { return !tokensContain(f.methods, m) })) {
		return false
	}
	return f.whole != none ||
		r.paths != nil && !slices.ContainsFunc(r.paths, func(p string) bool { return prefixOf(f.paths, p) < 0 })
}

// otherMethod is a method that none of the facets at hand names.
func (c *coverage) otherMethod() string {
	return methodOutside(func(method string) bool {
		return slices.ContainsFunc(c.facets, func(f *facet) bool { return f.methods != nil && tokensContain(f.methods, method) })
	})
}

// methodOutside is a method that is not named: one that people recognise, if there
// is one.
func methodOutside(named func(method string) bool) string {
	for _, method := range [...]string{"DELETE", "PUT", "POST", "PATCH", "GET", "OPTIONS", "HEAD"} {
		if !named(method) {
			return method
		}
	}
	for n := 1; ; n++ {
		if method := "OTHER-" + itoa(n); !named(method) {
			return method
		}
	}
}

// gap finds the first address of p that lies in no smaller range of s. When
// there is none, the result is the widest ranges inside p, which together fill
// it. IPv4 addresses in IPv6 form are no requests, so they leave no gap.
func (s *Set) gap(p netip.Prefix) (free netip.Addr, inner []netip.Prefix) {
	for at := p.Addr(); at.IsValid() && p.Contains(at); {
		q := s.widestInside(p, at)
		switch {
		case at.Is4In6():
			q = netip.PrefixFrom(at, 96).Masked()
		case !q.IsValid():
			return at, nil
		default:
			inner = append(inner, q)
		}
		at = lastOf(q).Next()
	}
	return netip.Addr{}, inner
}

// widestInside is the widest range of s that has the address and is smaller than
// p; it is invalid when there is none.
func (s *Set) widestInside(p netip.Prefix, addr netip.Addr) (widest netip.Prefix) {
	if s == nil {
		return widest
	}
	for i := s.innermost(addr); i != none && s.ranges[i].prefix.Bits() > p.Bits(); i = s.ranges[i].outer {
		widest = s.ranges[i].prefix
	}
	return widest
}

// lastOf is the last address of a range.
func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// namesBelow yields names below a suffix, each valid: first ones that read well
// in a message, then every one that fits, shortest first. It ends only where the
// suffix is so long that few names fit.
func namesBelow(suffix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		room := maxName - len(suffix) - len(".")
		for _, word := range [...]string{"evil", "evil2", "evil3"} {
			if len(word) <= room && !yield(word+"."+suffix) {
				return
			}
		}
		for size := 1; size <= room; size++ {
			if !textsOf(size, func(text string) bool {
				name := text + "." + suffix
				return !validName(name) || yield(name)
			}) {
				return
			}
		}
	}
}

// textsOf calls yield with every text of that size over the characters of names,
// until it says no; that is then the result.
func textsOf(size int, yield func(string) bool) bool {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789-."
	digits := make([]int, size)
	text := make([]byte, size)
	for {
		for i, d := range digits {
			text[i] = alphabet[d]
		}
		if !yield(string(text)) {
			return false
		}
		i := size - 1
		for ; i >= 0; i-- {
			if digits[i]++; digits[i] < len(alphabet) {
				break
			}
			digits[i] = 0
		}
		if i < 0 {
			return true
		}
	}
}
