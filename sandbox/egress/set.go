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
// Names are found by a trie of labels read from the right, addresses by sorted
// prefixes that know the prefix around them, and the rules of one host by port.
// Memory is linear in the text of the rules.
type Set struct {
	rules  []Rule
	zones  []zone
	edges  map[edge]int32 // the trie: node and label to the node below
	nodes  []node
	ranges []addressRange // by first address, wider ones first
	// exact and below find the zone of a whole name, and of the wildcard below a
	// name, in one step; the trie finds all that cover a name.
	exact, below map[string]int32
}

type edge struct {
	from  int32
	label string
}

// node is one name of the trie; the root is node 0, the empty name.
type node struct {
	exact int32 // zone of the name itself, or none
	below int32 // zone of the wildcard below the name, or none
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
	s := &Set{
		rules: slices.Clone(rules),
		nodes: []node{{none, none}},
		edges: make(map[edge]int32),
		exact: make(map[string]int32),
		below: make(map[string]int32),
	}
	byHost := make(map[Host]int32)
	for i := range s.rules {
		host := s.rules[i].host
		if host.kind == hostNone {
			continue
		}
		z, ok := byHost[host]
		if !ok {
			z = int32(len(s.zones))
			byHost[host] = z
			s.zones = append(s.zones, zone{host: host})
			s.place(host, z)
		}
		s.zones[z].members = append(s.zones[z].members, int32(i))
	}
	for i := range s.zones {
		s.zones[i].compile(s.rules)
	}
	s.nest()
	return s
}

// Rules are the rules of the set, in the order they were given.
func (s *Set) Rules() []Rule {
	if s == nil {
		return nil
	}
	return slices.Clone(s.rules)
}

// Len is the number of rules.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// place enters a zone where its host is looked for.
func (s *Set) place(host Host, z int32) {
	if host.kind == hostAddress {
		s.ranges = append(s.ranges, addressRange{prefix: host.prefix, zone: z, outer: none})
		return
	}
	at := int32(0)
	for label := range labelsFromRight(host.name) {
		next, ok := s.edges[edge{at, label}]
		if !ok {
			next = int32(len(s.nodes))
			s.nodes = append(s.nodes, node{none, none})
			s.edges[edge{at, label}] = next
		}
		at = next
	}
	if host.kind == hostWildcard {
		s.nodes[at].below, s.below[host.name] = z, z
	} else {
		s.nodes[at].exact, s.exact[host.name] = z, z
	}
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
