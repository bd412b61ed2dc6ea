package egress

// Region is any combination of sets by union, intersection and difference. Unlike
// a [Set] it need not be expressible as rules: there are none that say "everything
// under example.com but a.example.com". The zero value is empty. A region never
// changes, and holds the sets that it was made of.
//
// Combining costs nothing; [Region.Boxes] and [Region.Witness] do the work, and
// that is bounded.
type Region struct {
	sets    []*Set
	program []instruction // in postfix order
}

// instruction takes a set, or combines the last two results.
type instruction struct {
	op   operation
	leaf int // for take
}

type operation uint8

const (
	take operation = iota
	union
	intersect
	minus
)

// Region is the set as a region.
func (s *Set) Region() Region {
	return Region{sets: []*Set{s}, program: []instruction{{op: take}}}
}

// Minus is what s admits and other does not. It is empty exactly when s is
// [Set.Within] other, which is the quicker question.
func (s *Set) Minus(other *Set) Region { return s.Region().Minus(other.Region()) }

// Union is what either region has.
func (r Region) Union(other Region) Region { return r.combine(union, other) }

// Intersect is what both regions have.
func (r Region) Intersect(other Region) Region { return r.combine(intersect, other) }

// Minus is what r has and other does not.
func (r Region) Minus(other Region) Region { return r.combine(minus, other) }

func (r Region) combine(op operation, other Region) Region {
	r, other = r.orNothing(), other.orNothing()
	c := Region{
		sets:    append(append(make([]*Set, 0, len(r.sets)+len(other.sets)), r.sets...), other.sets...),
		program: append(make([]instruction, 0, len(r.program)+len(other.program)+1), r.program...),
	}
	for _, i := range other.program {
		if i.op == take {
			i.leaf += len(r.sets)
		}
		c.program = append(c.program, i)
	}
	c.program = append(c.program, instruction{op: op})
	return c
}

// orNothing is the region, and the empty set as one for the zero value.
func (r Region) orNothing() Region {
	if len(r.program) == 0 {
		return (*Set)(nil).Region()
	}
	return r
}

// holds evaluates the region at a place that lies in some of its sets. Outside
// all of them no region has anything. stack is scratch space.
func (r Region) holds(in, stack []bool) bool {
	stack = stack[:0]
	for _, i := range r.program {
		if i.op == take {
			stack = append(stack, in[i.leaf])
			continue
		}
		last := len(stack) - 1
		a, b := stack[last-1], stack[last]
		stack = stack[:last]
		switch i.op {
		case union:
			stack[last-1] = a || b
		case intersect:
			stack[last-1] = a && b
		default:
			stack[last-1] = a && !b
		}
	}
	return len(stack) > 0 && stack[0]
}

// Has reports whether the region has the request, as [Set.Match] judges it.
func (r Region) Has(q Request) bool {
	in := make([]bool, len(r.sets))
	for i, s := range r.sets {
		_, in[i] = s.Match(q)
	}
	return r.holds(in, nil)
}

// Boxes takes the region apart into boxes that are not empty, share nothing and
// together are the region. Their order depends on the region alone. The error is
// [ErrTooComplex] or nil; with it there are no boxes, and the region may have
// anything.
func (r Region) Boxes() ([]Box, error) {
	t := takenApart{region: r, in: make([]bool, len(r.sets))}
	boxes := t.boxes()
	if err := t.err(); err != nil {
		return nil, err
	}
	return boxes, nil
}

// Empty reports whether the region has nothing. With an error, which is
// [ErrTooComplex], it is false.
func (r Region) Empty() (bool, error) {
	_, some, err := r.Witness()
	return !some, err
}

// Witness is a request that the region has, if it has any; Has has confirmed it.
// It names a rule of the first of the region's sets that admits it. With an error,
// which is [ErrTooComplex], some is true: what is not known to be empty is not.
//
// Should a witness ever fail its confirmation, some is true with a zero witness.
func (r Region) Witness() (w Witness, some bool, err error) {
	boxes, err := r.Boxes()
	if err != nil || len(boxes) == 0 {
		return Witness{}, err != nil, err
	}
	w = boxes[0].Witness()
	if !r.Has(w.Request()) {
		return Witness{}, true, nil
	}
	for _, s := range r.sets {
		if rule, ok := s.Match(w.Request()); ok {
			w.Rule = rule.name
			break
		}
	}
	return w, true, nil
}

// Equal reports whether both regions have the same requests. The error is
// [ErrTooComplex] or nil.
func (r Region) Equal(other Region) (bool, error) {
	return r.Minus(other).Union(other.Minus(r)).Empty()
}
