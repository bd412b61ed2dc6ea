package egress

import (
	"iter"
	"slices"
)

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
	for _, w := range s.Overlapping(other) {
		return w, true
	}
	return Witness{}, false
}

// Overlapping yields the positions in [Set.Rules] of the rules that share a request
// with the other set, in their order, each with such a request. The bound on the
// work is one for all of them together: a witness that is zero, as [Set.Overlaps]
// would give it, is the last.
func (s *Set) Overlapping(other *Set) iter.Seq2[int, Witness] {
	return func(yield func(int, Witness) bool) {
		if s.Empty() || other.Empty() {
			return
		}
		o := overlap{a: s, b: other}
		o.lookInside()
		for i := range s.rules {
			w, shared := o.rule(int32(i))
			if shared && (!yield(i, w) || w == Witness{}) {
				return
			}
		}
	}
}

// overlap holds the rules of one set against another set.
type overlap struct {
	steps
	a, b   *Set
	inside map[Host][]*zone // the zones of b whose patterns lie within one of a
	around []*zone
}

// lookInside finds for each pattern of a those of b within it.
func (o *overlap) lookInside() {
	o.inside = make(map[Host][]*zone)
	for i := range o.b.zones {
		z := &o.b.zones[i]
		o.around = o.a.around(z.host, o.around[:0])
		if !o.take(len(o.around)) {
			return
		}
		for _, wider := range o.around {
			if wider.host != z.host { // which is found around it too
				o.inside[wider.host] = append(o.inside[wider.host], z)
			}
		}
	}
}

// rule reports whether a rule of a shares a request with b. The witness was
// confirmed or is zero.
func (o *overlap) rule(i int32) (Witness, bool) {
	r := &o.a.rules[i]
	if r.host.kind == hostNone {
		return Witness{}, false
	}
	f := newFacet(o.a.rules, []int32{i})
	o.around = o.b.around(r.host, o.around[:0])
	for _, wider := range o.around {
		if w, ok := o.meets(&f, wider); ok {
			return o.confirmed(w.at(aPlaceIn(r.host)), r)
		}
	}
	for _, z := range o.inside[r.host] {
		if w, ok := o.meets(&f, z); ok {
			return o.confirmed(w.at(aPlaceIn(z.host)), r)
		}
	}
	return Witness{}, o.err() != nil
}

func (o *overlap) confirmed(w Witness, r *Rule) (Witness, bool) {
	w.Rule = r.name
	_, inA := o.a.Match(w.Request())
	_, inB := o.b.Match(w.Request())
	if o.err() != nil || !inA || !inB {
		return Witness{}, true
	}
	return w, true
}

// meets finds port, method and path that both the facet and the zone admit.
func (o *overlap) meets(f *facet, z *zone) (Witness, bool) {
	for j := range z.facets {
		if !o.take(1 + f.cost(&z.facets[j])) {
			return Witness{}, false
		}
		if w, ok := f.meets(&z.facets[j]); ok {
			return w, true
		}
	}
	return Witness{}, false
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

// cost is how many parts of two facets are compared at most, as far as that grows
// beyond a search.
func (f *facet) cost(other *facet) int {
	return len(f.ports) + len(other.ports) + len(f.methods) + len(f.paths) + len(other.paths)
}

func (f *facet) meets(other *facet) (w Witness, ok bool) {
	if w.Port, ok = sharedPort(f.ports, other.ports); !ok {
		return Witness{}, false
	}
	if w.Method, ok = sharedMethod(f.methods, other.methods); !ok {
		return Witness{}, false
	}
	if w.Path, ok = f.sharedPath(other); !ok {
		return Witness{}, false
	}
	if w.Method != "" && w.Path == "" {
		w.Path = "/"
	}
	if w.Path != "" && w.Method == "" {
		w.Method = "GET"
	}
	return w, true
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

// sharedPath is a path that both facets admit; empty is any.
func (f *facet) sharedPath(other *facet) (path string, ok bool) {
	switch {
	case f.whole != none && other.whole != none:
		return "", true
	case f.whole != none:
		return other.paths[0], true
	case other.whole != none:
		return f.paths[0], true
	}
	for _, p := range f.paths {
		if prefixOf(other.paths, p) >= 0 {
			return p, true
		}
	}
	for _, p := range other.paths {
		if prefixOf(f.paths, p) >= 0 {
			return p, true
		}
	}
	return "", false
}
