package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// Set is the union of rules, compiled for matching and comparison. It never
// changes and is safe for concurrent use. A nil *Set is the empty set: it matches
// nothing and is within every other. Make one with [NewSet].
//
// Names are found by their suffixes, addresses by sorted prefixes that know the
// prefix around them, and the rules of one host by port. Memory is linear in the
// text of the rules.
type Set struct {
	rules []Rule
	zones []zone
	// exact and below are the zones of a whole name, and of the wildcard below a
	// name.
	exact, below map[string]int32
	ranges       []addressRange // by first address, wider ones first
}

// addressRange is an address pattern. outer is the index of the smallest range
// around it, or none.
type addressRange struct {
	prefix netip.Prefix
	zone   int32
	outer  int32
}

// none is the absent index.
const none int32 = -1

// NewSet compiles rules. Equal rules count once in matching; [Set.Rules] keeps
// all of them. The slice is copied.
func NewSet(rules []Rule) *Set {
	s := &Set{rules: slices.Clone(rules)}
	s.divide()
	single := make([]facet, len(s.zones)) // most zones have one rule
	for i := range s.zones {
		s.zones[i].compile(s.rules, single[i:i:i+1])
	}
	s.nest()
	return s
}

// divide makes zones of the rules, by their hosts.
func (s *Set) divide() {
	d := division{set: s}
	of := make([]int32, len(s.rules)) // the zone of each rule
	for i := range s.rules {
		of[i] = d.zone(s.rules[i].host)
	}
	starts := make([]int32, len(s.zones)+1)
	for _, z := range of {
		if z != none {
			starts[z+1]++
		}
	}
	for z := range s.zones {
		starts[z+1] += starts[z]
	}
	members := make([]int32, starts[len(s.zones)])
	for z := range s.zones {
		s.zones[z].members = members[starts[z]:starts[z]:starts[z+1]]
	}
	for i, z := range of {
		if z != none {
			s.zones[z].members = append(s.zones[z].members, int32(i))
		}
	}
}

// division makes the zones of a set.
type division struct {
	set       *Set
	addresses map[netip.Prefix]int32
}

// zone is the zone of a host, a new one where there was none; the host of the zero
// rule has none.
func (d *division) zone(host Host) int32 {
	s, next := d.set, int32(len(d.set.zones))
	z := next
	switch host.kind {
	case hostNone:
		return none
	case hostExact:
		z = entered(&s.exact, host.name, next, len(s.rules))
	case hostWildcard:
		z = entered(&s.below, host.name, next, 0)
	case hostAddress:
		z = entered(&d.addresses, host.prefix, next, 0)
		if z == next {
			s.ranges = append(s.ranges, addressRange{prefix: host.prefix, zone: z, outer: none})
		}
	}
	if z == next {
		s.zones = append(s.zones, zone{host: host})
	}
	return z
}

// entered is what the map has under a key, and otherwise next, which it has from
// then on. A map that is not there yet is made for size entries.
func entered[K comparable](m *map[K]int32, key K, next int32, size int) int32 {
	if z, ok := (*m)[key]; ok {
		return z
	}
	if *m == nil {
		*m = make(map[K]int32, size)
	}
	(*m)[key] = next
	return next
}

// Rules are the rules of the set, in the order they were given.
func (s *Set) Rules() []Rule {
	if s == nil {
		return nil
	}
	return slices.Clone(s.rules)
}

// Rule is the rule at a position in [Set.Rules].
func (s *Set) Rule(i int) Rule { return s.rules[i] }

// Len is the number of rules.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// labelsFromRight yields the labels of a name, top level first.
func labelsFromRight(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for end := len(name); end > 0; {
			start := strings.LastIndexByte(name[:end], '.') + 1
			if !yield(name[start:end]) {
				return
			}
			end = start - 1
		}
	}
}

// nest sorts the ranges and finds the one around each.
func (s *Set) nest() {
	slices.SortFunc(s.ranges, func(a, b addressRange) int { return compareRanges(a.prefix, b.prefix) })
	open := none
	for i := range s.ranges {
		p := s.ranges[i].prefix
		for open != none && !s.ranges[open].prefix.Contains(p.Addr()) {
			open = s.ranges[open].outer
		}
		s.ranges[i].outer = open
		open = int32(i)
	}
}

// compareRanges orders by first address, IPv4 first, and wider ranges first.
func compareRanges(a, b netip.Prefix) int {
	if c := a.Addr().Compare(b.Addr()); c != 0 {
		return c
	}
	return a.Bits() - b.Bits()
}

// innermost is the index of the smallest range that has the address, or none.
// The ranges around it follow by outer.
func (s *Set) innermost(addr netip.Addr) int32 {
	after, _ := slices.BinarySearchFunc(s.ranges, addr, func(r addressRange, addr netip.Addr) int {
		if r.prefix.Addr().Compare(addr) <= 0 {
			return -1
		}
		return 1
	})
	i := int32(after) - 1
	for i != none && !s.ranges[i].prefix.Contains(addr) {
		i = s.ranges[i].outer
	}
	return i
}
