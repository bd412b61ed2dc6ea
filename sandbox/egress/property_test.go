package egress

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The small universe: every request that the generated rules can tell apart, and
// one of each kind that they cannot name.
var (
	universeHosts = []string{
		"t", "a.t", "b.t", "z.t", "a.a.t", "b.a.t", "z.a.t", "z.b.t", "z.a.a.t", "u", "a.u", "z.u",
	}
	patternHosts = []string{
		"t", "a.t", "b.t", "a.a.t", "b.a.t", "u", "a.u", "*.t", "*.a.t", "*.b.t", "*.u", "*.a.a.t",
	}
	patternRanges = []string{
		"10.0.0.0/29", "10.0.0.0/30", "10.0.0.4/30", "10.0.0.0/31", "10.0.0.2/31", "10.0.0.4/31", "10.0.0.6/31",
		"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.7", "2001:db8::/126", "2001:db8::/127", "2001:db8::2/127", "2001:db8::3",
	}
	universeAddrs = []string{
		"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.8",
		"2001:db8::", "2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4",
	}
	patternPorts    = []string{"1", "2", "3", "443", "1-2", "2-3", "1-3", "2-443", "65535", "3-65535"}
	universePorts   = []uint16{1, 2, 3, 4, 443, 444, 65535}
	patternMethods  = []string{"GET", "POST", "DELETE"}
	universeMethods = []string{"GET", "POST", "DELETE", "PUT"}
	patternPaths    = []string{"/a", "/a/b", "/ab", "/b", "/a-"}
	universePaths   = []string{"/", "/a", "/a/", "/a/b", "/a/b/c", "/a/c", "/ab", "/ab/x", "/b", "/a-", "/z", "/a/../b"}
)

func universe() []Request {
	var all []Request
	add := func(r Request) {
		for _, port := range universePorts {
			r.Port, r.Method, r.Path = port, "", ""
			all = append(all, r)
			for _, r.Method = range universeMethods {
				for _, r.Path = range universePaths {
					all = append(all, r)
				}
			}
		}
	}
	for _, h := range universeHosts {
		add(Request{Host: h})
	}
	for _, a := range universeAddrs {
		add(Request{Addr: netip.MustParseAddr(a)})
	}
	return all
}

func anyOr(t *rapid.T, from []string, label string) []string {
	if rapid.Bool().Draw(t, "any "+label) {
		return []string{"*"}
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 1, 3, rapid.ID).Draw(t, label)
}

func drawRule(t *rapid.T) Rule {
	hosts := patternHosts
	if rapid.Bool().Draw(t, "address") {
		hosts = patternRanges
	}
	r, findings := ParseRule("", sandbox.EgressRule{
		Host:    rapid.SampledFrom(hosts).Draw(t, "host"),
		Ports:   anyOr(t, patternPorts, "ports"),
		Methods: anyOr(t, patternMethods, "methods"),
		Paths:   anyOr(t, patternPaths, "paths"),
	}, nil)
	if len(findings) > 0 {
		t.Fatalf("generator made a bad rule: %v", findings)
	}
	return r
}

func drawRules(t *rapid.T, label string, most int) []Rule {
	return rapid.SliceOfN(rapid.Custom(drawRule), 0, most).Draw(t, label)
}

func admitted(s *Set, all []Request) []bool {
	in := make([]bool, len(all))
	for i, r := range all {
		_, in[i] = s.Match(r)
	}
	return in
}

func TestMatchAgreesWithANaiveScan(t *testing.T) {
	t.Parallel()
	all := universe()
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t, "rules", 12)
		s := NewSet(rules)
		for range 200 {
			r := all[rapid.IntRange(0, len(all)-1).Draw(t, "request")]
			rule, ok := s.Match(r)
			if want := naive(rules, r); ok != want {
				t.Fatalf("%+v: match says %v, the scan %v", r, ok, want)
			}
			if ok && !naiveRule(*rule, r) {
				t.Fatalf("%+v: rule %s is said to admit it and does not", r, rule)
			}
		}
	})
}

func TestMatchAllIsEveryRuleThatAdmitsAlone(t *testing.T) {
	t.Parallel()
	all := universe()
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t, "rules", 12)
		s := NewSet(rules)
		for range 100 {
			r := all[rapid.IntRange(0, len(all)-1).Draw(t, "request")]
			var want []int
			for i := range rules {
				if naiveRule(rules[i], r) {
					want = append(want, i)
				}
			}
			if got := s.MatchAll(r); !slices.Equal(got, want) {
				t.Fatalf("%+v: %v, the scan %v", r, got, want)
			}
		}
	})
}

func TestOverlappingAgreesWithEachRuleAlone(t *testing.T) {
	t.Parallel()
	all := universe()
	rapid.Check(t, func(t *rapid.T) {
		a, b := NewSet(drawRules(t, "a", 5)), NewSet(drawRules(t, "b", 5))
		inB := admitted(b, all)
		var want, got []int
		for i, rule := range a.Rules() {
			for j, r := range all {
				if inB[j] && naiveRule(rule, r) {
					want = append(want, i)
					break
				}
			}
		}
		for i, w := range a.Overlapping(b) {
			got = append(got, i)
			checkWitness(t, w, NewSet(a.Rules()[i:i+1]), true, b, true)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, brute force %v\na %v\nb %v", got, want, texts(a), texts(b))
		}
	})
}

func TestWithinAgreesWithBruteForce(t *testing.T) {
	t.Parallel()
	all := universe()
	rapid.Check(t, func(t *rapid.T) {
		a, b := NewSet(drawRules(t, "a", 4)), NewSet(drawRules(t, "b", 8))
		if rapid.Bool().Draw(t, "b has most of a") {
			b = NewSet(append(b.Rules(), a.Rules()[:max(0, a.Len()-1)]...))
		}
		inA, inB := admitted(a, all), admitted(b, all)
		want := true
		for i := range all {
			want = want && (!inA[i] || inB[i])
		}
		w, got := a.Within(b)
		if got != want {
			t.Fatalf("within says %v (witness %s), brute force %v\na %v\nb %v", got, w, want, texts(a), texts(b))
		}
		if !got {
			checkWitness(t, w, a, true, b, false)
		}
	})
}

func TestOverlapsAgreesWithBruteForce(t *testing.T) {
	t.Parallel()
	all := universe()
	rapid.Check(t, func(t *rapid.T) {
		a, b := NewSet(drawRules(t, "a", 3)), NewSet(drawRules(t, "b", 3))
		inA, inB := admitted(a, all), admitted(b, all)
		want := false
		for i := range all {
			want = want || inA[i] && inB[i]
		}
		w, got := a.Overlaps(b)
		if got != want {
			t.Fatalf("overlaps says %v (witness %s), brute force %v\na %v\nb %v", got, w, want, texts(a), texts(b))
		}
		if _, back := b.Overlaps(a); back != got {
			t.Fatalf("overlaps is not symmetric\na %v\nb %v", texts(a), texts(b))
		}
		if got {
			checkWitness(t, w, a, true, b, true)
		}
	})
}

func TestWithinIsAnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t, "rules", 6)
		cut := rapid.IntRange(0, len(rules)).Draw(t, "cut")
		a, union := NewSet(rules[:cut]), NewSet(rules)
		if w, ok := a.Within(a); !ok {
			t.Fatalf("not reflexive: %s", w)
		}
		if w, ok := a.Within(union); !ok {
			t.Fatalf("a union lost something: %s", w)
		}
		b, c := NewSet(drawRules(t, "b", 6)), NewSet(drawRules(t, "c", 6))
		_, ab := union.Within(b)
		_, bc := b.Within(c)
		if w, ac := union.Within(c); ab && bc && !ac {
			t.Fatalf("not transitive: %s", w)
		}
		shuffled := slices.Clone(rules)
		slices.Reverse(shuffled)
		if !union.Equal(NewSet(shuffled)) || !union.Equal(NewSet(append(shuffled, rules...))) {
			t.Fatal("order or repetition changed what is admitted")
		}
	})
}

func TestEveryRuleIsWithinASetOfItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRule(t)
		again, findings := ParseRule(r.Name(), r.Normal(), nil)
		if len(findings) > 0 || !again.Equal(r) || again.String() != r.String() {
			t.Fatalf("%s: the normal form is another rule: %s %v", r, again, findings)
		}
		s := NewSet([]Rule{r})
		if w, ok := s.Overlaps(s); !ok || w.String() == "" {
			t.Fatalf("%s admits nothing", r)
		}
		if _, ok := s.Within(nil); ok {
			t.Fatalf("%s is within the empty set", r)
		}
	})
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkWitness(t failer, w Witness, a *Set, inA bool, b *Set, inB bool) {
	t.Helper()
	if w.String() == "" {
		t.Fatalf("no witness")
	}
	if got := naive(a.Rules(), w.Request()); got != inA {
		t.Fatalf("witness %s: in the first set %v, want %v", w, got, inA)
	}
	if got := naive(b.Rules(), w.Request()); got != inB {
		t.Fatalf("witness %s: in the second set %v, want %v", w, got, inB)
	}
	named := func(r Rule) bool { return r.Name() == w.Rule && naiveRule(r, w.Request()) }
	if !slices.ContainsFunc(a.Rules(), named) {
		t.Fatalf("witness %s: rule %q does not admit it", w, w.Rule)
	}
	if (w.Method == "") != (w.Path == "") {
		t.Fatalf("witness %s: half a request", w)
	}
}

func texts(s *Set) []string {
	var lines []string
	for _, r := range s.Rules() {
		lines = append(lines, r.String())
	}
	return lines
}
