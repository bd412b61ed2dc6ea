package egress

import (
	"encoding/binary"
	"slices"
	"strings"
)

// slab is what a region has of the ports, methods and paths at hosts that are
// judged alike. Slabs of one place share no request, and are the same whenever
// the region has the same there.
type slab struct {
	ports   []PortRange
	methods methodSet
	paths   pathSet
}

// methodSet is some methods, or all others. The method of a connection that
// hides it is among the others.
type methodSet struct {
	names      []string // sorted
	complement bool
}

// pathSet is the paths that turn from outside to inside, or back, an odd number
// of times on the way from the root.
type pathSet struct {
	root  bool     // a path below none of the turns is inside
	turns []string // prefixes, ordered by comparePaths
}

func (p pathSet) empty() bool { return !p.root && len(p.turns) == 0 }

// key is the same for the same paths. Prefixes in normal form have no white space.
func (p pathSet) key() string {
	return string("-+"[b2i(p.root)]) + strings.Join(p.turns, " ")
}

// trees are the paths inside, tree by tree.
func (p pathSet) trees() []PathTree {
	var trees []PathTree
	type open struct {
		prefix string
		tree   int // in trees, or -1 outside
	}
	stack := []open{{"", -1}}
	if p.root {
		trees = append(trees, PathTree{})
		stack[0].tree = 0
	}
	for _, turn := range p.turns {
		for len(stack) > 1 && !underPath(turn, stack[len(stack)-1].prefix) {
			stack = stack[:len(stack)-1]
		}
		if around := stack[len(stack)-1].tree; around >= 0 {
			trees[around].Except = append(trees[around].Except, turn)
			stack = append(stack, open{turn, -1})
			continue
		}
		stack = append(stack, open{turn, len(trees)})
		trees = append(trees, PathTree{Prefix: turn})
	}
	return trees
}

// slabs works out what the region has where each set speaks through the zones in
// around. Between two ports at which some rule begins or ends, all are judged
// alike; intervals that turn out the same are joined.
func (t *takenApart) slabs() (slabs []slab, key string) {
	t.memo.reset()
	ports := make(map[string][]PortRange) // by the key of their plane
	var planes []plane                    // in the order of their first port
	cuts := t.cuts()
	for i, first := range cuts {
		last := uint16(maxPort)
		if i+1 < len(cuts) {
			last = cuts[i+1] - 1
		}
		p, ok := t.planeOn(first)
		if !ok {
			return nil, ""
		}
		if len(p.slabs) == 0 {
			continue
		}
		if ports[p.key] == nil {
			planes = append(planes, p)
		}
		ports[p.key] = append(ports[p.key], PortRange{first, last})
	}
	var b strings.Builder
	for _, p := range planes {
		merged := mergePorts(ports[p.key])
		for _, s := range p.slabs {
			s.ports = merged
			slabs = append(slabs, s)
		}
		for _, r := range merged {
			b.WriteString(r.String())
			b.WriteByte(' ')
		}
		b.WriteString(p.key)
		b.WriteByte('\f')
	}
	return slabs, b.String()
}

// cuts are the first ports of the intervals in which all ports are judged alike.
func (t *takenApart) cuts() []uint16 {
	cuts := []uint16{1}
	for _, zones := range t.around {
		for _, z := range zones {
			before := len(cuts)
			cuts = z.cuts(everyPort[0], cuts)
			t.take(len(z.facets) + len(cuts) - before)
		}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// memo keeps what was worked out at hosts that are judged alike: the same facets
// give the same again.
type memo struct {
	ids    map[*facet]uint32
	planes map[string]plane
	paths  map[string]pathSet
	buffer []byte
}

func (m *memo) reset() {
	if m.ids == nil {
		m.ids, m.planes, m.paths = make(map[*facet]uint32), make(map[string]plane), make(map[string]pathSet)
	}
	clear(m.ids)
	clear(m.planes)
	clear(m.paths)
}

// key tells lists of facets apart. It is valid until the next call.
func (m *memo) key(lists [][]*facet) []byte {
	m.buffer = m.buffer[:0]
	for _, facets := range lists {
		for _, f := range facets {
			id, ok := m.ids[f]
			if !ok {
				id = uint32(len(m.ids)) + 1
				m.ids[f] = id
			}
			m.buffer = binary.AppendUvarint(m.buffer, uint64(id))
		}
		m.buffer = append(m.buffer, 0)
	}
	return m.buffer
}

// plane is the slabs on one port, without their ports.
type plane struct {
	slabs []slab
	key   string // the same for the same ones
}

// planeOn works out methods and paths on a port. ok is false when the work had to
// stop.
func (t *takenApart) planeOn(port uint16) (p plane, ok bool) {
	for s, zones := range t.around {
		t.active[s] = t.active[s][:0]
		for _, z := range zones {
			if z.byPort == nil && !t.take(len(z.facets)) {
				return plane{}, false
			}
			t.active[s] = z.facetsOn(port, t.active[s])
		}
		if !t.take(1 + len(t.active[s])) {
			return plane{}, false
		}
	}
	if p, ok := t.memo.planes[string(t.memo.key(t.active))]; ok {
		return p, true
	}
	key := string(t.memo.buffer)
	p = t.plane()
	t.memo.planes[key] = p
	return p, t.err() == nil
}

// plane works out methods and paths of the active facets. Methods that turn out
// the same are joined.
func (t *takenApart) plane() plane {
	var named []string
	for _, facets := range t.active {
		for _, f := range facets {
			named = append(named, f.methods...)
		}
	}
	t.take(len(named))
	slices.Sort(named)
	named = slices.Compact(named)

	others := t.pathsOf(func(f *facet) bool { return f.methods == nil })
	at := map[string]int{others.key(): 0}
	made := []slab{{paths: others, methods: methodSet{complement: true}}}
	for _, method := range named {
		paths := t.pathsOf(func(f *facet) bool { return tokensContain(f.methods, method) })
		if t.err() != nil {
			return plane{}
		}
		i, ok := at[paths.key()]
		if !ok {
			i = len(made)
			at[paths.key()] = i
			made = append(made, slab{paths: paths})
		}
		if i != 0 {
			made[i].methods.names = append(made[i].methods.names, method)
			made[0].methods.names = append(made[0].methods.names, method)
		}
	}
	made = slices.DeleteFunc(made, func(s slab) bool { return s.paths.empty() })
	var b strings.Builder
	for _, s := range made {
		b.WriteByte("=!"[b2i(s.methods.complement)])
		b.WriteString(strings.Join(s.methods.names, " "))
		b.WriteByte('\t')
		b.WriteString(s.paths.key())
		b.WriteByte('\n')
	}
	return plane{made, b.String()}
}

// pathsOf works out the paths that the active facets with a method have.
func (t *takenApart) pathsOf(has func(*facet) bool) pathSet {
	for s, facets := range t.active {
		t.take(1 + len(facets))
		t.chosen[s] = t.chosen[s][:0]
		for _, f := range facets {
			if has(f) {
				t.chosen[s] = append(t.chosen[s], f)
			}
		}
	}
	if p, ok := t.memo.paths[string(t.memo.key(t.chosen))]; ok {
		return p
	}
	key := string(t.memo.buffer)
	p := t.paths()
	t.memo.paths[key] = p
	return p
}

// sortCost is what sorting takes for one element, where others take one step.
const sortCost = 8

// stepInto is one prefix of one set.
type stepInto struct {
	prefix string
	set    int
}

// paths works out the paths of the chosen facets.
func (t *takenApart) paths() pathSet {
	var steps []stepInto
	within := make([]int, len(t.chosen)) // how many prefixes of a set are around
	for s, facets := range t.chosen {
		for _, f := range facets {
			if !t.take(1 + sortCost*len(f.paths)) {
				return pathSet{}
			}
			if f.whole != none {
				within[s]++
			}
			for _, p := range f.paths {
				steps = append(steps, stepInto{p, s})
			}
		}
	}
	slices.SortFunc(steps, func(a, b stepInto) int { return comparePaths(a.prefix, b.prefix) })

	set := pathSet{root: t.holds(within)}
	type open struct {
		prefix string
		steps  []stepInto
		inside bool
	}
	stack := []open{{inside: set.root}}
	for start := 0; start < len(steps); {
		end := start + 1
		for end < len(steps) && steps[end].prefix == steps[start].prefix {
			end++
		}
		prefix, here := steps[start].prefix, steps[start:end]
		start = end
		for len(stack) > 1 && !underPath(prefix, stack[len(stack)-1].prefix) {
			for _, s := range stack[len(stack)-1].steps {
				within[s.set]--
			}
			stack = stack[:len(stack)-1]
		}
		for _, s := range here {
			within[s.set]++
		}
		inside := t.holds(within)
		if inside != stack[len(stack)-1].inside {
			set.turns = append(set.turns, prefix)
		}
		stack = append(stack, open{prefix, here, inside})
	}
	return set
}

// holds evaluates the region where the sets have so many prefixes around.
func (t *takenApart) holds(within []int) bool {
	for i, n := range within {
		t.in[i] = n > 0
	}
	if cap(t.stack) == 0 {
		t.stack = make([]bool, 0, len(t.region.program))
	}
	t.take(len(t.region.program))
	return t.region.holds(t.in, t.stack)
}
