package egress

import "slices"

// Overlaps reports whether some request is admitted by both sets, and gives one;
// s.Match and other.Match have confirmed it. The witness names the rule of s.
//
// The answer is exact. Two patterns share a destination only when one covers the
// other, and then everything the smaller one covers, so that each pattern is only
// held against those around it on the other side.
//
// The work is bounded. Should it not be enough, which takes thousands of rules of
// one host on both sides, the answer is true with a zero witness, and so it is
// should a witness ever fail its confirmation: whoever asks wants to hear that
// nothing is shared.
func (s *Set) Overlaps(other *Set) (Witness, bool) {
	if s == nil || other == nil {
		return Witness{}, false
	}
	var work steps
	w, owner, ok := s.meets(other, &work)
	if work.err() != nil {
		return Witness{}, true
	}
	if !ok {
		return Witness{}, false
	}
	rule, inside := s.Match(w.Request())
	if _, both := other.Match(w.Request()); !inside || !both {
		return Witness{}, true
	}
	w.Rule = rule.name
	if owner != none {
		w.Rule = s.rules[owner].name
	}
	return w, true
}

// meets finds a request in both sets and the rule of s that admits it.
func (s *Set) meets(other *Set, work *steps) (Witness, int32, bool) {
	var around []*zone
	for i := range s.zones {
		z := &s.zones[i]
		around = other.around(z.host, around[:0])
		for _, wider := range around {
			if w, owner, ok := z.meets(wider, work); ok {
				return w.at(aPlaceIn(z.host)), owner, true
			}
		}
	}
	for i := range other.zones {
		z := &other.zones[i]
		around = s.around(z.host, around[:0])
		for _, wider := range around {
			if w, owner, ok := wider.meets(z, work); ok {
				return w.at(aPlaceIn(z.host)), owner, true
			}
		}
	}
	return Witness{}, none, false
}

// aPlaceIn is one name or address that the pattern covers.
func aPlaceIn(host Host) Host {
	if host.kind == hostWildcard {
		for name := range namesBelow(host.name) {
			return Host{kind: hostExact, name: name}
		}
	}
	return host
}

// meets finds port, method and path that both zones admit, and the rule of z.
func (z *zone) meets(other *zone, work *steps) (Witness, int32, bool) {
	for i := range z.facets {
		for j := range other.facets {
			if !work.take(z.facets[i].cost(&other.facets[j])) {
				return Witness{}, none, false
			}
			if w, owner, ok := z.facets[i].meets(&other.facets[j]); ok {
				return w, owner, true
			}
		}
	}
	return Witness{}, none, false
}

// cost is how many parts of two facets are compared at most, as far as that grows
// beyond a search.
func (f *facet) cost(other *facet) int {
	return len(f.ports) + len(other.ports) + len(f.methods) + len(f.paths) + len(other.paths)
}

func (f *facet) meets(other *facet) (w Witness, owner int32, ok bool) {
	if w.Port, ok = sharedPort(f.ports, other.ports); !ok {
		return Witness{}, none, false
	}
	if w.Method, ok = sharedMethod(f.methods, other.methods); !ok {
		return Witness{}, none, false
	}
	if w.Path, owner, ok = f.sharedPath(other); !ok {
		return Witness{}, none, false
	}
	if w.Method != "" && w.Path == "" {
		w.Path = "/"
	}
	if w.Path != "" && w.Method == "" {
		w.Method = "GET"
	}
	return w, owner, true
}

// sharedPort is a port of both lists: 443 where it is, else the lowest.
func sharedPort(a, b []PortRange) (uint16, bool) {
	if portsContain(a, httpsPort) && portsContain(b, httpsPort) {
		return httpsPort, true
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if low := max(a[i].First, b[j].First); low <= min(a[i].Last, b[j].Last) {
			return low, true
		}
		if a[i].Last < b[j].Last {
			i++
		} else {
			j++
		}
	}
	return 0, false
}

// sharedMethod is a method of both lists; empty is any.
func sharedMethod(a, b []string) (string, bool) {
	switch {
	case a == nil && b == nil:
		return "", true
	case a == nil:
		return b[0], true
	case b == nil:
		return a[0], true
	}
	i := slices.IndexFunc(a, func(m string) bool { return tokensContain(b, m) })
	if i < 0 {
		return "", false
	}
	return a[i], true
}

// sharedPath is a path that both facets admit, and the rule of f; empty is any.
func (f *facet) sharedPath(other *facet) (path string, owner int32, ok bool) {
	switch {
	case f.whole != none && other.whole != none:
		return "", f.whole, true
	case f.whole != none:
		return other.paths[0], f.whole, true
	case other.whole != none:
		return f.paths[0], f.owners[0], true
	}
	for i, p := range f.paths {
		if prefixOf(other.paths, p) >= 0 {
			return p, f.owners[i], true
		}
	}
	for _, p := range other.paths {
		if i := prefixOf(f.paths, p); i >= 0 {
			return p, f.owners[i], true
		}
	}
	return "", none, false
}
