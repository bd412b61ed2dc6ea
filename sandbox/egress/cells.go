package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// takenApart makes boxes of a region. Patterns of hosts either share nothing or
// one lies inside the other, so that all patterns of all sets make a forest, and
// between a pattern and those inside it every host is judged alike. What is judged
// alike there is worked out in slabs.go.
type takenApart struct {
	steps
	region Region
	in     []bool // scratch: which sets have the place at hand
	stack  []bool // scratch of [Region.holds]
	around [][]*zone
	active [][]*facet // of the port at hand
	chosen [][]*facet // of the method at hand
	memo   memo
}

// cell is one pattern of the forest.
type cell struct {
	host  Host
	outer int32 // the smallest pattern around it, or none
	// alike is the cell, this one or one around it, from which this one does not
	// differ; none where the region has nothing here and around.
	alike int32
	holes []Host // of the patterns inside, those that differ
	slabs []slab
	key   string // of the slabs: the same for the same ones
}

func (t *takenApart) boxes() []Box {
	cells := t.forest()
	n := len(t.region.sets)
	t.around, t.active, t.chosen = make([][]*zone, n), make([][]*facet, n), make([][]*facet, n)
	for i := range cells { // outer ones first
		c := &cells[i]
		for s, set := range t.region.sets {
			t.around[s] = set.around(c.host, t.around[s][:0])
		}
		c.slabs, c.key = t.slabs()
		if !t.take(1) {
			return nil
		}
		outer, outerKey := none, ""
		if c.outer != none {
			outer = cells[c.outer].alike
		}
		if outer != none {
			outerKey = cells[outer].key
		}
		if c.alike = outer; c.key == outerKey {
			continue
		}
		c.alike = int32(i)
		if outer != none {
			cells[outer].holes = append(cells[outer].holes, c.host)
		}
	}
	var boxes []Box
	for i := range cells {
		if c := &cells[i]; c.alike == int32(i) && len(c.slabs) > 0 {
			boxes = append(boxes, t.boxesOf(c)...)
		}
	}
	return boxes
}

// boxesOf are the boxes of one cell, and none where the patterns inside it leave
// no host.
func (t *takenApart) boxesOf(c *cell) []Box {
	if !t.take(len(c.slabs) * (1 + len(c.holes))) {
		return nil
	}
	place, ok := c.free()
	if !ok {
		return nil
	}
	boxes := make([]Box, len(c.slabs))
	for i, s := range c.slabs {
		boxes[i] = Box{
			Host: c.host, Except: c.holes, Ports: s.ports,
			Methods: s.methods.names, AnyMethodBut: s.methods.complement, Paths: s.paths.trees(),
			place: place,
		}
	}
	return boxes
}

// forest is every pattern of the sets once, outer ones before inner ones, names
// before addresses.
func (t *takenApart) forest() []cell {
	var names, ranges []cell
	seen := make(map[Host]bool)
	for _, s := range t.region.sets {
		if s == nil || !t.take(len(s.zones)) {
			continue
		}
		for i := range s.zones {
			switch h := s.zones[i].host; {
			case seen[h]:
			case h.kind == hostAddress:
				ranges = append(ranges, cell{host: h, outer: none})
			default:
				names = append(names, cell{host: h, outer: none, key: nameKey(h)})
			}
			seen[s.zones[i].host] = true
		}
	}
	slices.SortFunc(names, func(a, b cell) int { return strings.Compare(a.key, b.key) })
	at := make(map[Host]int32, len(names))
	for i := range names {
		at[names[i].host] = int32(i)
		names[i].outer = enclosing(at, names[i].host)
	}
	slices.SortFunc(ranges, func(a, b cell) int { return compareRanges(a.host.prefix, b.host.prefix) })
	open := none
	for i := range ranges {
		for open != none && !ranges[open].host.prefix.Contains(ranges[i].host.prefix.Addr()) {
			open = ranges[open].outer
		}
		ranges[i].outer = open
		open = int32(i)
	}
	for i := range ranges {
		if ranges[i].outer != none {
			ranges[i].outer += int32(len(names))
		}
	}
	return append(names, ranges...)
}

// nameKey orders names by their labels from the right, and a wildcard before what
// lies below its suffix.
func nameKey(h Host) string {
	var b strings.Builder
	for label := range labelsFromRight(h.name) {
		b.WriteString(label)
		b.WriteByte('.')
	}
	if h.kind == hostWildcard {
		b.WriteByte(0)
	}
	return b.String()
}

// enclosing is the wildcard of the smallest suffix that has the host below it, or
// none.
func enclosing(at map[Host]int32, host Host) int32 {
	for name := host.name; ; {
		_, parent, ok := strings.Cut(name, ".")
		if !ok {
			return none
		}
		if i, ok := at[Host{kind: hostWildcard, name: parent}]; ok {
			return i
		}
		name = parent
	}
}

// free is one name or address of the cell, if its holes leave one.
func (c *cell) free() (Host, bool) {
	switch c.host.kind {
	case hostWildcard:
		return freeName(c.host.name, c.holes)
	case hostAddress:
		addr, ok := freeAddress(c.host.prefix, c.holes)
		return Host{kind: hostAddress, prefix: netip.PrefixFrom(addr, addr.BitLen())}, ok
	default:
		return c.host, true
	}
}

// freeName is a name below the suffix that none of the patterns covers. Few names
// are looked at: each one that is covered takes a pattern.
func freeName(suffix string, holes []Host) (Host, bool) {
	at := make(map[Host]int32, len(holes))
	for i, h := range holes {
		at[h] = int32(i)
	}
	for name := range namesBelow(suffix) {
		host := Host{kind: hostExact, name: name}
		if _, named := at[host]; !named && enclosing(at, host) == none {
			return host, true
		}
	}
	return Host{}, false
}

// freeAddress is the first address of a range that lies in none of the smaller
// ranges, which share nothing and are in order. IPv4 addresses in IPv6 form are no
// requests.
func freeAddress(p netip.Prefix, holes []Host) (netip.Addr, bool) {
	for at := p.Addr(); at.IsValid() && p.Contains(at); {
		switch {
		case at.Is4In6():
			at = lastOf(netip.PrefixFrom(at, 96).Masked()).Next()
		case len(holes) == 0 || at.Less(holes[0].prefix.Addr()):
			return at, true
		default:
			if last := lastOf(holes[0].prefix); !last.Less(at) {
				at = last.Next()
			}
			holes = holes[1:]
		}
	}
	return netip.Addr{}, false
}
