package egress

import (
	"cmp"
	"slices"
	"strings"
)

// Redundancy is a rule that admits nothing which the others do not.
type Redundancy struct {
	// Rule is its position in [Set.Rules].
	Rule int
	// By are the positions of rules that together admit all that it does: one
	// where one is enough, and never one too many.
	By []int
}

// Redundant are the rules that could be taken away alone without a change of what
// the set admits, in their order. Of two equal rules either could, so both are
// there; see [Set.Minimise] for what to do about it. The error is [ErrTooComplex]
// or nil.
func (s *Set) Redundant() ([]Redundancy, error) {
	if s == nil {
		return nil, nil
	}
	c := cover{set: s, gone: make([]bool, len(s.rules))}
	var found []Redundancy
	for i := 0; i < len(s.rules) && c.err() == nil; i++ {
		if by, ok := c.by(int32(i)); ok {
			found = append(found, Redundancy{Rule: i, By: by})
		}
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return found, nil
}

// Minimise is a set that admits the same with no redundant rule: rules of s, in
// their order. Rules are tried from the narrowest host to the widest and, where
// hosts are alike, from the last to the first, so that what stays is the wider
// rule and the earlier one. There may be sets of fewer rules. The error is
// [ErrTooComplex] or nil.
func (s *Set) Minimise() (*Set, error) {
	if s == nil {
		return NewSet(nil), nil
	}
	order := make([]int32, len(s.rules))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(compareWidth(s.rules[a].host, s.rules[b].host), int(b-a))
	})
	c := cover{set: s, gone: make([]bool, len(s.rules))}
	for _, i := range order {
		_, ok := c.by(i)
		if err := c.err(); err != nil {
			return nil, err
		}
		c.gone[i] = ok
	}
	var kept []Rule
	for i := range s.rules {
		if !c.gone[i] {
			kept = append(kept, s.rules[i])
		}
	}
	return NewSet(kept), nil
}

// compareWidth orders narrow hosts before wide ones: what lies inside another
// comes before it.
func compareWidth(a, b Host) int {
	width := func(h Host) int {
		switch h.kind {
		case hostAddress:
			return -h.prefix.Bits()
		case hostWildcard:
			return maxName - strings.Count(h.name, ".")
		default:
			return -maxName
		}
	}
	return cmp.Compare(width(a), width(b))
}

// cover finds the rules that make another redundant.
type cover struct {
	steps
	set    *Set
	gone   []bool // rules that are no longer there
	around []*zone
}

// by are rules that together admit all that rule i does, if there are such. A rule
// that is not admitted by others somewhere is found out at that place, and every
// round adds a rule that is needed there, so that few rounds are made.
func (c *cover) by(i int32) (positions []int, ok bool) {
	rule := &c.set.rules[i]
	if rule.host.kind == hostNone {
		return nil, true
	}
	if j, ok := c.alone(i); ok {
		return []int{int(j)}, true
	}
	alone := NewSet([]Rule{*rule})
	var by []int32
	for {
		if !c.take(rule.points() + len(by)*len(by)) {
			return nil, false
		}
		w, covered := alone.Within(c.pick(by))
		if covered {
			break
		}
		j := c.other(w.Request(), i)
		if j == none || slices.Contains(by, j) {
			return nil, false
		}
		by = append(by, j)
	}
	return c.needed(alone, by)
}

// needed leaves out what the others make up for.
func (c *cover) needed(alone *Set, by []int32) ([]int, bool) {
	slices.Sort(by)
	for k := len(by) - 1; k >= 0 && len(by) > 1; k-- {
		fewer := slices.Delete(slices.Clone(by), k, k+1)
		if !c.take(alone.rules[0].points() + len(by)*len(by)) {
			return nil, false
		}
		if _, covered := alone.Within(c.pick(fewer)); covered {
			by = fewer
		}
	}
	positions := make([]int, len(by))
	for k, j := range by {
		positions[k] = int(j)
	}
	return positions, true
}

// points bounds the places at which a rule is held against others.
func (r *Rule) points() int {
	return len(r.ports) * max(len(r.methods), 1) * max(len(r.paths), 1)
}

func (c *cover) pick(positions []int32) *Set {
	rules := make([]Rule, len(positions))
	for k, j := range positions {
		rules[k] = c.set.rules[j]
	}
	return NewSet(rules)
}

// alone is the first other rule that admits all that rule i does.
func (c *cover) alone(i int32) (int32, bool) {
	rule, first := &c.set.rules[i], none
	c.around = c.set.around(rule.host, c.around[:0])
	for _, z := range c.around {
		for _, j := range z.members {
			if j == i || c.gone[j] || first != none && first < j || !c.take(1) {
				continue
			}
			if f := newFacet(c.set.rules, []int32{j}); f.contains(rule) {
				first = j
			}
		}
	}
	return first, first != none
}

// other is a rule besides i that admits the request, or none.
func (c *cover) other(r Request, i int32) int32 {
	q := query{port: r.Port, method: r.Method, path: r.Path}
	_, f := pathFlaw(r.Path)
	q.sound = f == pathSound
	c.around = c.set.around(r.host(), c.around[:0])
	for _, z := range c.around {
		for _, j := range z.members {
			if j == i || c.gone[j] || !c.take(1) {
				continue
			}
			if rule := &c.set.rules[j]; portsContain(rule.ports, q.port) {
				if f := newFacet(c.set.rules, []int32{j}); f.admit(&q) != none {
					return j
				}
			}
		}
	}
	return none
}
