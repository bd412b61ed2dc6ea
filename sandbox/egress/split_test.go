package egress

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// split cuts a rule into two that together admit what it admits, or gives it back
// alone where the chosen part cannot be cut.
func split(t *rapid.T, r Rule) []Rule {
	a, b := r, r
	switch rapid.IntRange(0, 3).Draw(t, "cut") {
	case 0:
		i := rapid.IntRange(0, len(r.ports)-1).Draw(t, "range")
		p := r.ports[i]
		if p.First == p.Last {
			return []Rule{r}
		}
		cut := rapid.Uint16Range(p.First, p.Last-1).Draw(t, "port")
		a.ports = append(append([]PortRange{}, r.ports[:i]...), PortRange{p.First, cut})
		b.ports = append([]PortRange{{cut + 1, p.Last}}, r.ports[i+1:]...)
	case 1:
		if len(r.methods) < 2 {
			return []Rule{r}
		}
		a.methods, b.methods = r.methods[:1], r.methods[1:]
	case 2:
		if len(r.paths) < 2 {
			return []Rule{r}
		}
		a.paths, b.paths = r.paths[:1], r.paths[1:]
	default:
		if !r.host.IsAddress() || r.host.prefix.IsSingleIP() {
			return []Rule{r}
		}
		low := netip.PrefixFrom(r.host.prefix.Addr(), r.host.prefix.Bits()+1)
		a.host.prefix = low
		b.host.prefix = netip.PrefixFrom(lastOf(low).Next(), low.Bits())
	}
	return []Rule{a, b}
}

func TestPiecesOfARuleCoverItAndTooFewDoNot(t *testing.T) {
	t.Parallel()
	all := universe()
	rapid.Check(t, func(t *rapid.T) {
		whole := []Rule{drawRule(t)}
		if rapid.Bool().Draw(t, "two rules") {
			whole = append(whole, drawRule(t))
		}
		pieces := whole
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			var next []Rule
			for _, p := range pieces {
				next = append(next, split(t, p)...)
			}
			pieces = next
		}
		a, bound := NewSet(whole), NewSet(rapid.Permutation(pieces).Draw(t, "order"))
		if w, ok := a.Within(bound); !ok {
			t.Fatalf("%v is not within its pieces %v: %s", texts(a), texts(bound), w)
		}
		if !a.Equal(bound) {
			t.Fatalf("%v and its pieces %v are not equal", texts(a), texts(bound))
		}
		lost := rapid.IntRange(0, len(pieces)-1).Draw(t, "lost")
		fewer := NewSet(append(append([]Rule{}, pieces[:lost]...), pieces[lost+1:]...))
		w, ok := a.Within(fewer)
		if !ok {
			checkWitness(t, w, a, true, fewer, false)
			return
		}
		for i, in := range admitted(a, all) {
			if _, still := fewer.Match(all[i]); in && !still {
				t.Fatalf("%v is said to be within %v, which refuses %+v", texts(a), texts(fewer), all[i])
			}
		}
	})
}
