package egress

import "slices"

// Union is the set that admits what any of the sets does: the rules of all, in
// order. Nil sets are empty.
func Union(sets ...*Set) *Set {
	var rules []Rule
	for _, s := range sets {
		if s != nil {
			rules = append(rules, s.rules...)
		}
	}
	return NewSet(rules)
}

// Empty reports whether the set admits nothing.
func (s *Set) Empty() bool { return s == nil || len(s.zones) == 0 }

// maxIntersection bounds the rules of an intersection.
const maxIntersection = 1 << 17

// Intersect is the set that admits what both sets do, as rules: two patterns
// share nothing or the narrower one, and so do two prefixes of paths, so that
// what two rules share is a rule again. Each is named after the rule of s that it
// is part of, and each can be parsed again from its normal form.
//
// Rules of one host in both sets meet pair by pair. When more than 131,072 rules
// come of it, or too much work, the error is [ErrTooComplex].
func (s *Set) Intersect(other *Set) (*Set, error) {
	if s.Empty() || other.Empty() {
		return NewSet(nil), nil
	}
	x := intersection{seen: make(map[string]bool)}
	var around []*zone
	for i := range s.zones {
		narrow := &s.zones[i]
		around = other.around(narrow.host, around[:0])
		for _, wide := range around {
			x.zones(s, narrow, other, wide, narrow.host)
		}
	}
	for i := range other.zones {
		narrow := &other.zones[i]
		around = s.around(narrow.host, around[:0])
		for _, wide := range around {
			if wide.host != narrow.host { // met above
				x.zones(s, wide, other, narrow, narrow.host)
			}
		}
	}
	if err := x.err(); err != nil {
		return nil, err
	}
	if len(x.rules) > maxIntersection {
		return nil, ErrTooComplex
	}
	return NewSet(x.rules), nil
}

// intersection collects what pairs of rules share.
type intersection struct {
	steps
	rules []Rule
	seen  map[string]bool
}

// zones meets every rule of one zone with every rule of another, at the host that
// both cover.
func (x *intersection) zones(a *Set, of *zone, b *Set, with *zone, host Host) {
	for _, i := range of.members {
		for _, j := range with.members {
			r, q := &a.rules[i], &b.rules[j]
			if len(x.rules) > maxIntersection || !x.take(1+len(r.ports)+len(q.ports)+len(r.methods)+len(r.paths)+len(q.paths)) {
				return
			}
			if ports := sharedPorts(r.ports, q.ports); len(ports) > 0 {
				x.add(Rule{
					name: r.name, host: host, ports: ports,
					methods: sharedMethods(r.methods, q.methods), paths: sharedPaths(r.paths, q.paths),
				})
			}
		}
	}
}

// add takes a rule in pieces that are short enough to be parsed again, unless
// nothing is left of it or it is there already. A list that is any is nil; one
// that is empty and not nil admits nothing.
func (x *intersection) add(r Rule) {
	if r.methods != nil && len(r.methods) == 0 || r.paths != nil && len(r.paths) == 0 {
		return
	}
	for ports := range slices.Chunk(r.ports, maxPorts) {
		for paths := range chunksOrAny(r.paths, maxPaths) {
			piece := Rule{name: r.name, host: r.host, ports: ports, methods: r.methods, paths: paths}
			if text := piece.String(); !x.seen[text] {
				x.seen[text] = true
				x.rules = append(x.rules, piece)
			}
		}
	}
}

// chunksOrAny yields nil for nil, and else pieces of at most n elements.
func chunksOrAny(list []string, n int) func(yield func([]string) bool) {
	if list == nil {
		return func(yield func([]string) bool) { yield(nil) }
	}
	return slices.Chunk(list, n)
}

// sharedPorts are the ports of both merged lists, merged.
func sharedPorts(a, b []PortRange) []PortRange {
	var both []PortRange
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if low, high := max(a[i].First, b[j].First), min(a[i].Last, b[j].Last); low <= high {
			both = append(both, PortRange{low, high})
		}
		if a[i].Last < b[j].Last {
			i++
		} else {
			j++
		}
	}
	return both
}

// sharedMethods are the methods of both sorted lists; nil is any.
func sharedMethods(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(m string) bool { return !tokensContain(b, m) })
}

// sharedPaths are the prefixes that stand below both lists; nil is any.
func sharedPaths(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := []string{}
	for _, p := range a {
		if prefixOf(b, p) >= 0 {
			both = append(both, p)
		}
	}
	for _, p := range b {
		if prefixOf(a, p) >= 0 {
			both = append(both, p)
		}
	}
	slices.SortFunc(both, comparePaths)
	return slices.Compact(both)
}
