package egress

import "testing"

// BenchmarkAlgebra takes five hundred rules of every kind from as many others,
// half of which are the same.
func BenchmarkAlgebra(b *testing.B) {
	const n = 500
	all := mixedRules(b, n+n/2)
	a, other := NewSet(all[:n]), NewSet(all[n/2:])
	oneHost := func(from int) *Set {
		var rules []Rule
		for i := range n {
			i += from
			rules = append(rules, mustRule(b, rule("api.example.com", itoa(1+i)+"-"+itoa(1+i+i%50), [...]string{"GET", "POST", "GET PUT"}[i%3], "/v1/p"+itoa(i%70))))
		}
		return NewSet(rules)
	}
	one, next := oneHost(0), oneHost(n/2)
	b.Run("difference", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if boxes, err := a.Minus(other).Boxes(); err != nil || len(boxes) == 0 {
				b.Fatal(len(boxes), err)
			}
		}
	})
	b.Run("difference on one host", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if boxes, err := one.Minus(next).Boxes(); err != nil || len(boxes) == 0 {
				b.Fatal(len(boxes), err)
			}
		}
	})
	b.Run("intersection", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if both, err := a.Intersect(other); err != nil || both.Empty() {
				b.Fatal(err)
			}
		}
	})
	b.Run("intersection on one host", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if both, err := one.Intersect(next); err != nil || both.Empty() {
				b.Fatal(err)
			}
		}
	})
	b.Run("redundant", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := a.Redundant(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("least of two copies", func(b *testing.B) {
		twice := Union(a, a)
		b.ReportAllocs()
		for b.Loop() {
			if least, err := twice.Minimise(); err != nil || least.Len() > n {
				b.Fatal(least.Len(), err)
			}
		}
	})
	b.Run("given up", func(b *testing.B) {
		large, larger := entangled(b, 300), entangled(b, 301)
		for b.Loop() {
			if _, err := larger.Minus(large).Boxes(); err == nil {
				b.Fatal("taken apart")
			}
		}
	})
	b.Run("within, of rules that are given up", func(b *testing.B) {
		large, larger := entangled(b, 300), entangled(b, 301)
		for b.Loop() {
			large.Within(larger)
			larger.Within(large)
		}
	})
	b.Run("redundant of rules that are given up", func(b *testing.B) {
		large := entangled(b, 300)
		for b.Loop() {
			if _, err := large.Redundant(); err == nil {
				b.Fatal("answered")
			}
		}
	})
	b.Run("redundant on one host", func(b *testing.B) {
		for b.Loop() {
			if _, err := Union(one, next).Redundant(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
