package egress

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestDifferenceIsSaidInFull(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		a, b []sandbox.EgressRule
		want []string
	}{
		{"nothing more", []sandbox.EgressRule{rule("a.example", "443", "GET", "/v1")}, []sandbox.EgressRule{rule("*.example", "443", "*", "*")}, nil},
		{"another host", []sandbox.EgressRule{rule("a.example", "443", "*", "*"), rule("b.example", "443", "*", "*")}, []sandbox.EgressRule{rule("a.example", "443", "*", "*")}, []string{"b.example:443"}},
		{"a wildcard but for a name", []sandbox.EgressRule{rule("*.example.com", "443", "*", "*")}, []sandbox.EgressRule{rule("a.example.com", "443", "*", "*"), rule("*.b.example.com", "443", "*", "*")}, []string{"*.example.com:443, but not a.example.com or *.b.example.com"}},
		{"a name that differs in ports alone", []sandbox.EgressRule{rule("*.example.com", "80 443", "*", "*")}, []sandbox.EgressRule{rule("a.example.com", "443", "*", "*")}, []string{"*.example.com:80,443, but not a.example.com", "a.example.com:80"}},
		{"a name that makes no difference is no hole", []sandbox.EgressRule{rule("*.example.com", "443", "*", "*"), rule("a.example.com", "443", "*", "*")}, []sandbox.EgressRule{rule("a.example.com", "80", "*", "*")}, []string{"*.example.com:443"}},
		{"a hole in a hole", []sandbox.EgressRule{rule("*.example.com", "443", "*", "*"), rule("a.b.example.com", "443", "GET", "*")}, []sandbox.EgressRule{rule("*.b.example.com", "443", "*", "/x")}, []string{"*.example.com:443, but not *.b.example.com", "*.b.example.com:443 (any path but /x/*)"}},
		{"other methods", []sandbox.EgressRule{rule("a.example", "443", "*", "/v1")}, []sandbox.EgressRule{rule("a.example", "443", "GET HEAD", "*")}, []string{"a.example:443 (any method but GET or HEAD; /v1/*)"}},
		{"one method more", []sandbox.EgressRule{rule("a.example", "443", "GET POST", "/v1")}, []sandbox.EgressRule{rule("a.example", "443", "GET", "*")}, []string{"a.example:443 (POST /v1/*)"}},
		{"paths but for some below", []sandbox.EgressRule{rule("a.example", "443", "GET", "/v1 /v2")}, []sandbox.EgressRule{rule("a.example", "443", "*", "/v1/admin /v1/x")}, []string{"a.example:443 (GET /v1/* but not /v1/admin/* or /v1/x/*, /v2/*)"}},
		{"any path but some", []sandbox.EgressRule{rule("a.example", "443", "GET", "*")}, []sandbox.EgressRule{rule("a.example", "443", "*", "/v1")}, []string{"a.example:443 (GET; any path but /v1/*)"}},
		{"ports around a port", []sandbox.EgressRule{rule("a.example", "*", "*", "*")}, []sandbox.EgressRule{rule("a.example", "443", "*", "*")}, []string{"a.example:1-442,444-65535"}},
		{"ports apart that end up alike", []sandbox.EgressRule{rule("a.example", "1-9", "GET", "*")}, []sandbox.EgressRule{rule("a.example", "3", "*", "*"), rule("a.example", "5", "POST", "*")}, []string{"a.example:1-2,4-9 (GET)"}},
		{"a range but for its parts", []sandbox.EgressRule{rule("10.0.0.0/8", "443", "*", "*")}, []sandbox.EgressRule{rule("10.0.0.0/9", "443", "*", "*"), rule("10.200.0.1", "443", "*", "*")}, []string{"10.0.0.0/8:443, but not 10.0.0.0/9 or 10.200.0.1"}},
		{"halves of a range", []sandbox.EgressRule{rule("10.0.0.0/8", "443", "*", "*")}, []sandbox.EgressRule{rule("10.0.0.0/9", "443", "*", "*"), rule("10.128.0.0/9", "443", "*", "*")}, nil},
		{"an address in brackets", []sandbox.EgressRule{rule("2001:db8::/32", "443", "*", "*")}, []sandbox.EgressRule{rule("2001:db8::", "443", "*", "*")}, []string{"[2001:db8::/32]:443, but not 2001:db8::"}},
		{"much that is left out", []sandbox.EgressRule{rule("a.example", "443", "*", "*")}, []sandbox.EgressRule{rule("a.example", "443", "A B C D E F", "*")}, []string{"a.example:443 (any method but A or B or C or D or 2 more)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := mustSet(t, c.a...), mustSet(t, c.b...)
			boxes, err := a.Minus(b).Boxes()
			if err != nil {
				t.Fatal(err)
			}
			if got := stringsOf(boxes); !slices.Equal(got, c.want) {
				t.Fatalf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestDifferenceLeavesOutWildcardsThatAreFull(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	suffix := long + "." + long + "." + long + "." + strings.Repeat("b", 59) // one character fits below
	var names []string
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		names = append(names, string(c)+"."+suffix)
	}
	wildcard := hosts(t, "*."+suffix)
	if empty, err := wildcard.Minus(hosts(t, names...)).Empty(); err != nil || !empty {
		t.Fatalf("all 36 names leave something: %v", err)
	}
	w, some, err := wildcard.Minus(hosts(t, names[1:]...)).Witness()
	if err != nil || !some || w.Host != names[0] {
		t.Fatalf("%s %v %v", w, some, err)
	}
}

func TestIntersectionNamesTheFirstSetsRules(t *testing.T) {
	t.Parallel()
	a := mustSet(t, rule("*.example.com", "443 8000-8099", "GET POST", "/v1 /v2"), rule("10.0.0.0/8", "443", "*", "*"))
	b := mustSet(t, rule("api.example.com", "8050-9000", "*", "/v1/items /v3"), rule("10.1.0.0/16", "*", "*", "*"), rule("*.org", "443", "*", "*"))
	both, err := a.Intersect(b)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"api.example.com:8050-8099 (GET, POST /v1/items/*)", "10.1.0.0/16:443"}
	if got := texts(both); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if name := both.Rules()[0].Name(); name != "*.example.com" {
		t.Fatalf("named %q", name)
	}
	for _, none := range []*Set{nil, NewSet(nil), hosts(t, "elsewhere.example")} {
		if both, err := a.Intersect(none); err != nil || !both.Empty() {
			t.Fatalf("%v %v", texts(both), err)
		}
	}
}

func TestRedundancyNamesTheRulesThatMakeItSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		rules []sandbox.EgressRule
		want  []Redundancy
		least []int
	}{
		{"nothing", []sandbox.EgressRule{rule("a.example", "443", "*", "*"), rule("b.example", "443", "*", "*")}, nil, []int{0, 1}},
		{"a name below a wildcard", []sandbox.EgressRule{rule("a.example", "443", "*", "*"), rule("*.example", "443", "*", "*")}, []Redundancy{{0, []int{1}}}, []int{1}},
		{"not on that port", []sandbox.EgressRule{rule("a.example", "80", "*", "*"), rule("*.example", "443", "*", "*")}, nil, []int{0, 1}},
		{"equal ones, of which the first stays", []sandbox.EgressRule{rule("a.example", "443", "*", "*"), rule("A.example.", "443", "*", "*")}, []Redundancy{{0, []int{1}}, {1, []int{0}}}, []int{0}},
		{"two together", []sandbox.EgressRule{rule("a.example", "1-100", "GET", "*"), rule("*.example", "51-200", "*", "*"), rule("a.example", "1-60", "GET POST", "*")}, []Redundancy{{0, []int{1, 2}}}, []int{1, 2}},
		{"one is enough though two would do", []sandbox.EgressRule{rule("a.example", "1-9", "*", "*"), rule("a.example", "1-5", "*", "*"), rule("a.example", "6-9", "*", "*"), rule("*.example", "1-10", "*", "*")}, []Redundancy{{0, []int{3}}, {1, []int{0}}, {2, []int{0}}}, []int{3}},
		{"halves and the whole", []sandbox.EgressRule{rule("10.0.0.0/9", "443", "*", "*"), rule("10.0.0.0/8", "443", "*", "*"), rule("10.128.0.0/9", "443", "*", "*")}, []Redundancy{{0, []int{1}}, {1, []int{0, 2}}, {2, []int{1}}}, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := mustSet(t, c.rules...)
			found, err := s.Redundant()
			if err != nil || fmt.Sprint(found) != fmt.Sprint(c.want) {
				t.Errorf("got %v %v, want %v", found, err, c.want)
			}
			least, err := s.Minimise()
			if want := pickRules(s.Rules(), c.least); err != nil || !slices.Equal(texts(least), texts(want)) {
				t.Errorf("least %v %v, want %v", texts(least), err, texts(want))
			}
		})
	}
}

func TestEmptySetsAreEverywhereWithinAndNowhereBeyond(t *testing.T) {
	t.Parallel()
	a := hosts(t, "a.example")
	for _, s := range []*Set{nil, NewSet(nil), NewSet([]Rule{{}}), Union(), Union(nil, nil)} {
		if !s.Empty() {
			t.Error("not empty")
		}
		if empty, err := s.Minus(a).Empty(); err != nil || !empty {
			t.Errorf("has something: %v", err)
		}
		if empty, err := a.Minus(s).Empty(); err != nil || empty {
			t.Errorf("took something: %v", err)
		}
		if found, err := s.Redundant(); err != nil || len(found) != s.Len() {
			t.Errorf("redundant: %v %v", found, err)
		}
		if least, err := s.Minimise(); err != nil || least.Len() != 0 {
			t.Errorf("least: %v %v", texts(least), err)
		}
	}
	if a.Empty() || Union(nil, a).Len() != 1 {
		t.Error("one rule is not empty")
	}
}

// entangled are rules of one host, each of the largest size that is read and each
// unlike the others in every part.
func entangled(tb testing.TB, n int) *Set {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	several := func(count, of int, format string) []string {
		var list []string
		for _, k := range random.Perm(of)[:count] {
			list = append(list, fmt.Sprintf(format, k+1))
		}
		return list
	}
	var rules []sandbox.EgressRule
	for range n {
		rules = append(rules, sandbox.EgressRule{
			Host: "*.example.com", Ports: several(maxPorts, 2000, "%d"),
			Methods: several(maxMethods, 300, "M%d"), Paths: several(maxPaths, 1000, "/p%d"),
		})
	}
	return mustSet(tb, rules...)
}

func TestHostileSetsAreGivenUpInBoundedWork(t *testing.T) {
	t.Parallel()
	a, b := entangled(t, 140), entangled(t, 139)
	if boxes, err := a.Minus(b).Boxes(); !errors.Is(err, ErrTooComplex) || boxes != nil {
		t.Errorf("%d boxes, %v", len(boxes), err)
	}
	if empty, err := a.Minus(b).Empty(); !errors.Is(err, ErrTooComplex) || empty {
		t.Errorf("said to be empty: %v", err)
	}
	if _, err := a.Intersect(b); !errors.Is(err, ErrTooComplex) {
		t.Errorf("intersected: %v", err)
	}
	// What cannot be shown to be within is not within, and comes without a witness.
	if w, ok := b.Within(a); ok || w != (Witness{}) {
		t.Errorf("%v, with witness %s", ok, w)
	}
	if _, err := a.Redundant(); !errors.Is(err, ErrTooComplex) {
		t.Errorf("redundant: %v", err)
	}
	if _, err := a.Minimise(); !errors.Is(err, ErrTooComplex) {
		t.Errorf("minimised: %v", err)
	}
	// Few of the same kind are taken apart.
	if _, err := entangled(t, 2).Minus(entangled(t, 1)).Boxes(); err != nil {
		t.Error(err)
	}
	if _, err := entangled(t, 3).Intersect(entangled(t, 2)); err != nil {
		t.Error(err)
	}
}

func TestBeyondNamesEveryRuleThatIsNotWithin(t *testing.T) {
	t.Parallel()
	s := hosts(t, "a.example", "evil.test", "*.example", "b.example", "10.0.0.0/8")
	bound := hosts(t, "a.example", "b.example", "10.0.0.0/9")
	var got []string
	for i, w := range s.Beyond(bound) {
		got = append(got, fmt.Sprint(i, " ", w))
		if w.Rule != s.Rules()[i].Name() {
			t.Errorf("%s is said to be of %q", w, w.Rule)
		}
	}
	if want := []string{"1 evil.test:443", "2 evil.example:443", "4 10.128.0.0:443"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i, w := range s.Beyond(s) {
		t.Errorf("rule %d is beyond its own set: %s", i, w)
	}
	for i, w := range (*Set)(nil).Beyond(bound) {
		t.Errorf("rule %d of none is beyond: %s", i, w)
	}
}

func TestOverlappingNamesEveryRuleThatSharesSomething(t *testing.T) {
	t.Parallel()
	s := hosts(t, "a.example", "good.test", "*.example", "b.other", "10.0.0.0/8", "192.0.2.1")
	other := hosts(t, "x.y.example", "a.example", "10.1.0.0/16", "*.other", "b.test")
	var got []string
	for i, w := range s.Overlapping(other) {
		got = append(got, fmt.Sprint(i, " ", w))
		checkWitness(t, w, s, true, other, true)
	}
	if want := []string{"0 a.example:443", "2 x.y.example:443", "3 b.other:443", "4 10.1.0.0:443"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i, w := range hosts(t, "good.test").Overlapping(other) {
		t.Errorf("rule %d is said to share %s", i, w)
	}
}

func TestOneBoundHoldsForAllRulesTogether(t *testing.T) {
	t.Parallel()
	s := entangled(t, 140)
	bound := entangled(t, 139)
	shown, unshown := 0, 0
	for _, w := range s.Beyond(bound) {
		if w == (Witness{}) {
			unshown++
			continue
		}
		shown++
		checkWitness(t, w, s, true, bound, false)
	}
	if unshown != 1 {
		t.Errorf("%d rules with a witness, then %d without", shown, unshown)
	}
}
