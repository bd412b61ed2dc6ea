package egress

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawnRegion is a region and the same thing as a person would work it out: which
// requests of the universe it has, by combining what the naive matcher says.
type drawnRegion struct {
	region Region
	in     []bool
	text   string
}

func drawRegion(t *rapid.T, all []Request, depth int) drawnRegion {
	if depth == 0 || rapid.IntRange(0, 4).Draw(t, "leaf") == 0 {
		s := NewSet(drawRules(t, "rules", 4))
		return drawnRegion{s.Region(), admitted(s, all), "{" + saying(s) + "}"}
	}
	a, b := drawRegion(t, all, depth-1), drawRegion(t, all, depth-1)
	op := rapid.IntRange(0, 2).Draw(t, "operation")
	c := drawnRegion{in: make([]bool, len(all))}
	for i := range all {
		c.in[i] = [...]bool{a.in[i] || b.in[i], a.in[i] && b.in[i], a.in[i] && !b.in[i]}[op]
	}
	switch op {
	case 0:
		c.region = a.region.Union(b.region)
	case 1:
		c.region = a.region.Intersect(b.region)
	default:
		c.region = a.region.Minus(b.region)
	}
	c.text = "(" + a.text + " " + [...]string{"or", "and", "but not"}[op] + " " + b.text + ")"
	return c
}

func saying(s *Set) string {
	text := ""
	for _, line := range texts(s) {
		text += line + " "
	}
	return text
}

// inBox says what is in a box from what the box shows of itself.
func inBox(b Box, r Request) bool {
	if r.Path != "" && naiveHostile(r.Path) {
		r.Path = "" // judged as a path that cannot be seen
	}
	host := naiveHost(b.Host.String(), r) && !slices.ContainsFunc(b.Except, func(h Host) bool { return naiveHost(h.String(), r) })
	ports := slices.ContainsFunc(b.Ports, func(p PortRange) bool { return naivePort([]string{p.String()}, r.Port) })
	methods := slices.Contains(b.Methods, r.Method) != b.AnyMethodBut
	return host && ports && methods && slices.ContainsFunc(b.Paths, func(p PathTree) bool {
		under := func(prefix string) bool { return naivePath([]string{prefix}, r.Path) }
		return (p.Prefix == "" || under(p.Prefix)) && !slices.ContainsFunc(p.Except, under)
	})
}

func TestBoxesAreTheRegionAndShareNothing(t *testing.T) {
	t.Parallel()
	all := universe()
	rapid.Check(t, func(t *rapid.T) {
		d := drawRegion(t, all, 2)
		boxes, err := d.region.Boxes()
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range all {
			n := 0
			for _, b := range boxes {
				n += b2i(inBox(b, r))
			}
			if n != b2i(d.in[i]) {
				t.Fatalf("%+v is in %d boxes, want in one: %v\n%s\n%v", r, n, d.in[i], d.text, boxes)
			}
			if d.region.Has(r) != d.in[i] {
				t.Fatalf("%+v: has says %v\n%s", r, !d.in[i], d.text)
			}
		}
		for _, b := range boxes {
			if w := b.Witness(); !d.region.Has(w.Request()) || !inBox(b, w.Request()) {
				t.Fatalf("witness %s of %s is not in it\n%s", w, b, d.text)
			}
		}
		w, some, err := d.region.Witness()
		if err != nil || some != slices.Contains(d.in, true) {
			t.Fatalf("witness %s, %v, %v\n%s", w, some, err, d.text)
		}
		if some && (w.String() == "" || w.Rule == "" || (w.Method == "") != (w.Path == "")) {
			t.Fatalf("half a witness: %+v", w)
		}
	})
}

func TestRegionsAreABooleanAlgebra(t *testing.T) {
	t.Parallel()
	all := universe()[:0] // the laws need no requests
	rapid.Check(t, func(t *rapid.T) {
		draw := func() Region { return drawRegion(t, all, 1).region }
		a, b, c := draw(), draw(), draw()
		var nothing Region
		for law, sides := range map[string][2]Region{
			"union commutes":              {a.Union(b), b.Union(a)},
			"intersection commutes":       {a.Intersect(b), b.Intersect(a)},
			"union associates":            {a.Union(b.Union(c)), a.Union(b).Union(c)},
			"intersection associates":     {a.Intersect(b.Intersect(c)), a.Intersect(b).Intersect(c)},
			"union distributes":           {a.Union(b.Intersect(c)), a.Union(b).Intersect(a.Union(c))},
			"intersection distributes":    {a.Intersect(b.Union(c)), a.Intersect(b).Union(a.Intersect(c))},
			"union absorbs":               {a.Union(a.Intersect(b)), a},
			"intersection absorbs":        {a.Intersect(a.Union(b)), a},
			"difference of a union":       {a.Minus(b.Union(c)), a.Minus(b).Intersect(a.Minus(c))},
			"difference of a meet":        {a.Minus(b.Intersect(c)), a.Minus(b).Union(a.Minus(c))},
			"difference and meet split":   {a.Minus(b).Union(a.Intersect(b)), a},
			"difference is outside":       {a.Minus(b).Intersect(b), nothing},
			"taking back what was given":  {a.Union(b).Minus(b), a.Minus(b)},
			"nothing less":                {a.Minus(nothing), a},
			"nothing from nothing":        {nothing.Minus(a), nothing},
			"all of it":                   {a.Minus(a), nothing},
			"twice is once":               {a.Union(a), a},
			"difference of a difference":  {a.Minus(b.Minus(c)), a.Minus(b).Union(a.Intersect(c))},
			"difference from one another": {a.Minus(b).Minus(c), a.Minus(b.Union(c))},
		} {
			if same, err := sides[0].Equal(sides[1]); err != nil || !same {
				w, _, _ := sides[0].Minus(sides[1]).Witness()
				v, _, _ := sides[1].Minus(sides[0]).Witness()
				t.Fatalf("%s: %v, only left %s, only right %s", law, err, w, v)
			}
		}
	})
}

// The two ways to ask the same thing were written apart from each other.
func TestDifferenceIsEmptyExactlyWithin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := NewSet(drawRules(t, "a", 5)), NewSet(drawRules(t, "b", 8))
		if rapid.Bool().Draw(t, "near") {
			b = Union(b, NewSet(a.Rules()[:max(0, a.Len()-1)]))
		}
		_, within := a.Within(b)
		w, some, err := a.Minus(b).Witness()
		if err != nil || some == within {
			t.Fatalf("within %v, and outside it %s (%v)\na %v\nb %v", within, w, err, texts(a), texts(b))
		}
		if some {
			checkWitness(t, w, a, true, b, false)
		}
		_, overlap := a.Overlaps(b)
		if empty, err := a.Region().Intersect(b.Region()).Empty(); err != nil || empty == overlap {
			t.Fatalf("overlap %v, and the intersection is empty %v (%v)\na %v\nb %v", overlap, empty, err, texts(a), texts(b))
		}
	})
}

func TestIntersectionIsRulesForWhatBothAdmit(t *testing.T) {
	t.Parallel()
	all := universe()
	rapid.Check(t, func(t *rapid.T) {
		a, b := NewSet(drawRules(t, "a", 5)), NewSet(drawRules(t, "b", 5))
		both, err := a.Intersect(b)
		if err != nil {
			t.Fatal(err)
		}
		inA, inB := admitted(a, all), admitted(b, all)
		for i, in := range admitted(both, all) {
			if in != (inA[i] && inB[i]) {
				t.Fatalf("%+v: %v, of a %v, of b %v\na %v\nb %v\nboth %v", all[i], in, inA[i], inB[i], texts(a), texts(b), texts(both))
			}
		}
		if same, err := both.Region().Equal(a.Region().Intersect(b.Region())); err != nil || !same {
			t.Fatalf("another intersection than the region's: %v", err)
		}
		for _, r := range both.Rules() {
			again, findings := ParseRule(r.Name(), r.Normal(), nil)
			if len(findings) > 0 || !again.Equal(r) {
				t.Fatalf("%s cannot be written down: %v", r, findings)
			}
			if _, ok := NewSet([]Rule{r}).Within(a); !ok {
				t.Fatalf("%s is not within the first set", r)
			}
		}
	})
}

func TestRedundantRulesAreThoseThatCanGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t, "rules", 8)
		s := NewSet(rules)
		found, err := s.Redundant()
		if err != nil {
			t.Fatal(err)
		}
		by := map[int][]int{}
		for _, r := range found {
			by[r.Rule] = r.By
		}
		for i := range rules {
			without := NewSet(slices.Delete(slices.Clone(rules), i, i+1))
			cover, redundant := by[i]
			if s.Equal(without) != redundant {
				t.Fatalf("%s: said to be redundant: %v\n%v", rules[i], redundant, texts(s))
			}
			if !redundant {
				continue
			}
			alone := NewSet(rules[i : i+1])
			if slices.Contains(cover, i) || !isWithin(alone, pickRules(rules, cover)) {
				t.Fatalf("%s is not covered by %v\n%v", rules[i], cover, texts(s))
			}
			for k := range cover {
				if isWithin(alone, pickRules(rules, slices.Delete(slices.Clone(cover), k, k+1))) {
					t.Fatalf("%s needs fewer than %v\n%v", rules[i], cover, texts(s))
				}
			}
		}
	})
}

func TestMinimisedSetIsEqualAndHasNoRedundantRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var rules []Rule
		for _, r := range drawRules(t, "rules", 6) {
			rules = append(rules, split(t, r)...)
			rules = append(rules, r)
		}
		s := NewSet(rules)
		least, err := s.Minimise()
		if err != nil {
			t.Fatal(err)
		}
		if !least.Equal(s) {
			t.Fatalf("%v is not %v", texts(least), texts(s))
		}
		if found, err := least.Redundant(); err != nil || len(found) > 0 {
			t.Fatalf("%v has redundant rules: %v %v", texts(least), found, err)
		}
		again, err := least.Minimise()
		if err != nil || !slices.Equal(texts(again), texts(least)) {
			t.Fatalf("a second time it is %v and not %v", texts(again), texts(least))
		}
	})
}

func isWithin(a, b *Set) bool {
	_, ok := a.Within(b)
	return ok
}

func pickRules(rules []Rule, at []int) *Set {
	var picked []Rule
	for _, i := range at {
		picked = append(picked, rules[i])
	}
	return NewSet(picked)
}

// FuzzAlgebra steers the drawn sets by coverage.
func FuzzAlgebra(f *testing.F) {
	all := universe()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, seed))
		drawn := make([]byte, 4096)
		for i := range drawn {
			drawn[i] = byte(random.Uint32())
		}
		f.Add(drawn)
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		d := drawRegion(t, all, 2)
		boxes, err := d.region.Boxes()
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range all {
			n := 0
			for _, b := range boxes {
				n += b2i(inBox(b, r))
			}
			if n != b2i(d.in[i]) {
				t.Fatalf("%+v is in %d boxes, want in one: %v\n%s\n%v", r, n, d.in[i], d.text, boxes)
			}
		}
		least, err := d.region.sets[0].Minimise()
		if err != nil || !least.Equal(d.region.sets[0]) {
			t.Fatalf("%v, %v of %v", err, texts(least), texts(d.region.sets[0]))
		}
	}))
}
