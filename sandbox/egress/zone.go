package egress

import (
	"cmp"
	"slices"
)

// zone is all that a set says of one host pattern.
type zone struct {
	host    Host
	members []int32 // rules, in their order
	facets  []facet
	byPort  *portIndex // when there are many facets
}

// facet is the rules of one zone that agree on ports and methods, with their
// paths joined.
type facet struct {
	ports   []PortRange
	methods []string // nil is any
	whole   int32    // a rule that admits every path, or none
	paths   []string // ordered by comparePaths, none below another
	owners  []int32  // the rule of each path
}

// fewFacets is how many facets are looked at one by one.
const fewFacets = 8

// compile makes facets of the zone's rules, in the room there is for one.
func (z *zone) compile(rules []Rule, room []facet) {
	if len(z.members) == 1 {
		z.facets = append(room, newFacet(rules, z.members))
		return
	}
	sorted := slices.Clone(z.members)
	slices.SortStableFunc(sorted, func(a, b int32) int { return compareReach(&rules[a], &rules[b]) })
	for start := 0; start < len(sorted); {
		end := start + 1
		for end < len(sorted) && compareReach(&rules[sorted[start]], &rules[sorted[end]]) == 0 {
			end++
		}
		z.facets = append(z.facets, newFacet(rules, sorted[start:end]))
		start = end
	}
	if len(z.facets) > fewFacets {
		z.byPort = newPortIndex(z.facets)
	}
}

// compareReach orders rules of one host by ports and methods, any method first.
func compareReach(a, b *Rule) int {
	return cmp.Or(slices.CompareFunc(a.ports, b.ports, comparePorts), slices.Compare(a.methods, b.methods))
}

// newFacet joins the paths of rules that agree on ports and methods.
func newFacet(rules []Rule, members []int32) facet {
	first := &rules[members[0]]
	f := facet{ports: first.ports, methods: first.methods, whole: none}
	type owned struct {
		path  string
		owner int32
	}
	var all []owned
	for _, m := range members {
		if rules[m].paths == nil {
			f.whole = m
			return f
		}
		for _, p := range rules[m].paths {
			all = append(all, owned{p, m})
		}
	}
	slices.SortStableFunc(all, func(a, b owned) int { return comparePaths(a.path, b.path) })
	for _, o := range all {
		if n := len(f.paths); n == 0 || !underPath(o.path, f.paths[n-1]) {
			f.paths = append(f.paths, o.path)
			f.owners = append(f.owners, o.owner)
		}
	}
	return f
}

// query is a request without its host, as zones are asked.
type query struct {
	port         uint16
	method, path string
	sound        bool // the path may be held against prefixes
}

// admit is the rule that admits the query on one of the facet's ports, or none.
func (f *facet) admit(q *query) int32 {
	switch {
	case !tokensContain(f.methods, q.method):
		return none
	case f.whole != none:
		return f.whole
	case !q.sound:
		return none
	}
	if i := prefixOf(f.paths, q.path); i >= 0 {
		return f.owners[i]
	}
	return none
}

// admit is a rule of the zone that admits the query, or none.
func (z *zone) admit(q *query) int32 {
	if z.byPort != nil {
		return z.byPort.admit(z.facets, q)
	}
	for i := range z.facets {
		if f := &z.facets[i]; portsContain(f.ports, q.port) {
			if r := f.admit(q); r != none {
				return r
			}
		}
	}
	return none
}

// facetsOn appends the facets that have the port.
func (z *zone) facetsOn(port uint16, to []*facet) []*facet {
	if z.byPort != nil {
		for at := z.byPort.leaf(port); at >= 1; at >>= 1 {
			for _, i := range z.byPort.tree[at] {
				to = append(to, &z.facets[i])
			}
		}
		return to
	}
	for i := range z.facets {
		if portsContain(z.facets[i].ports, port) {
			to = append(to, &z.facets[i])
		}
	}
	return to
}

// cuts appends the ports in first+1..last at which the zone begins or ceases to
// say something. Between two cuts every port is judged alike.
func (z *zone) cuts(in PortRange, to []uint16) []uint16 {
	if in.First == in.Last {
		return to
	}
	add := func(port uint32) {
		if port > uint32(in.First) && port <= uint32(in.Last) {
			to = append(to, uint16(port))
		}
	}
	if z.byPort != nil {
		for _, start := range z.byPort.starts {
			add(start)
		}
		return to
	}
	for i := range z.facets {
		for _, p := range z.facets[i].ports {
			add(uint32(p.First))
			add(uint32(p.Last) + 1)
		}
	}
	return to
}

// portIndex finds the facets that have a port: a segment tree over the intervals
// between the ports at which any facet begins or ends. A facet stands in few
// nodes, and a port is answered by the nodes between its leaf and the root.
type portIndex struct {
	starts []uint32  // first port of each interval, sorted
	tree   [][]int32 // node 1 is the root, interval i is leaf len(starts)+i
}

func newPortIndex(facets []facet) *portIndex {
	x := &portIndex{}
	for i := range facets {
		for _, p := range facets[i].ports {
			x.starts = append(x.starts, uint32(p.First), uint32(p.Last)+1)
		}
	}
	slices.Sort(x.starts)
	x.starts = slices.Clip(slices.Compact(x.starts))
	x.tree = make([][]int32, 2*len(x.starts))
	for i := range facets {
		for _, p := range facets[i].ports {
			x.enter(int32(i), uint32(p.First), uint32(p.Last)+1)
		}
	}
	return x
}

// enter puts a facet into the nodes that make up the ports first..end-1.
func (x *portIndex) enter(facet int32, first, end uint32) {
	l, _ := slices.BinarySearch(x.starts, first)
	r, _ := slices.BinarySearch(x.starts, end)
	for l, r = l+len(x.starts), r+len(x.starts); l < r; l, r = l>>1, r>>1 {
		if l&1 == 1 {
			x.tree[l] = append(x.tree[l], facet)
			l++
		}
		if r&1 == 1 {
			r--
			x.tree[r] = append(x.tree[r], facet)
		}
	}
}

// leaf is the node of the interval that has the port, or 0 when none has.
func (x *portIndex) leaf(port uint16) int {
	i, found := slices.BinarySearch(x.starts, uint32(port))
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return i + len(x.starts)
}

func (x *portIndex) admit(facets []facet, q *query) int32 {
	for at := x.leaf(q.port); at >= 1; at >>= 1 {
		for _, i := range x.tree[at] {
			if r := facets[i].admit(q); r != none {
				return r
			}
		}
	}
	return none
}
