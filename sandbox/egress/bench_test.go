package egress

import (
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// mixedRules are rules of every kind, as a large policy has them.
func mixedRules(tb testing.TB, n int) []Rule {
	tb.Helper()
	rules := make([]Rule, n)
	for i := range rules {
		r := rule(fmt.Sprintf("h%d.d%d.example.com", i, i%97), "443", "*", "*")
		switch i % 8 {
		case 1:
			r.Host = "*." + r.Host
		case 2:
			r.Methods, r.Paths = []string{"GET", "HEAD"}, []string{"/v1", "/v2/items"}
		case 3:
			r.Ports = []string{"443", "8000-8099"}
		case 4:
			r.Host = fmt.Sprintf("10.%d.%d.0/24", i>>8&0xff, i&0xff)
		case 5:
			r.Host = fmt.Sprintf("2001:db8:%x::/48", i)
		}
		rules[i] = mustRule(tb, r)
	}
	return rules
}

// mixedRequests are hits and misses of every kind, for mixedRules of size n.
func mixedRequests(n int) []Request {
	i := n / 2 &^ 7
	name := func(i int) string { return fmt.Sprintf("h%d.d%d.example.com", i, i%97) }
	return []Request{
		{Host: name(i), Port: 443},
		{Host: "a.b." + name(i+1), Port: 443, Method: "POST", Path: "/x"},
		{Host: name(i + 2), Port: 443, Method: "GET", Path: "/v2/items/7?"[:11]},
		{Host: name(i + 3), Port: 8050},
		{Addr: netip.MustParseAddr(fmt.Sprintf("10.%d.%d.9", (i+4)>>8&0xff, (i+4)&0xff)), Port: 443},
		{Host: name(i + 1), Port: 443},                                      // the apex of a wildcard
		{Host: name(i + 2), Port: 443, Method: "GET", Path: "/v1/../admin"}, // two readings
		{Host: name(i + 3), Port: 22},
		{Host: "evil." + name(i), Port: 443},
		{Host: "a.very.long.name.that.nobody.ever.allowed.example.org", Port: 443},
		{Addr: netip.MustParseAddr("192.0.2.1"), Port: 443},
		{Addr: netip.MustParseAddr("2001:db9::1"), Port: 443},
	}
}

// scan is the peer of the benchmarks: the same compiled rules, one after the
// other.
func scan(rules []Rule, r Request) bool {
	q := query{port: r.Port, method: r.Method, path: r.Path}
	if r.Path != "" {
		_, f := pathFlaw(r.Path)
		q.sound = f == pathSound
	}
	for i := range rules {
		h := &rules[i].host
		covers := false
		switch h.kind {
		case hostExact:
			covers = h.name == r.Host
		case hostWildcard:
			covers = len(r.Host) > len(h.name)+1 && strings.HasSuffix(r.Host, h.name) && r.Host[len(r.Host)-len(h.name)-1] == '.'
		case hostAddress:
			covers = h.prefix.Contains(r.Addr)
		}
		if covers && admits(&rules[i], &q) {
			return true
		}
	}
	return false
}

// admits reports whether the rule alone admits the request's port, method and
// path. The caller has compared hosts.
func admits(r *Rule, q *query) bool {
	return portsContain(r.ports, q.port) && tokensContain(r.methods, q.method) &&
		(r.paths == nil || q.sound && prefixOf(r.paths, q.path) >= 0)
}

//nolint:paralleltest // allocations are counted for the whole process
func TestMatchAllocatesNothing(t *testing.T) {
	rules := mixedRules(t, 1000)
	for i := range 40 { // enough facets of one host for the port index
		rules = append(rules, mustRule(t, rule("many.example.com", itoa(i+1), "*", "*")))
	}
	s := NewSet(rules)
	hits := 0
	for _, r := range append(mixedRequests(1000), Request{Host: "many.example.com", Port: 17}, Request{Host: "many.example.com", Port: 99}) {
		if _, ok := s.Match(r); ok {
			hits++
		}
		if n := testing.AllocsPerRun(100, func() { s.Match(r) }); n != 0 {
			t.Errorf("%+v: %v allocations", r, n)
		}
	}
	if want := 6; hits != want {
		t.Errorf("%d of the requests are hits, want %d", hits, want)
	}
}

func TestScanOfTheBenchmarkDecidesTheSame(t *testing.T) {
	t.Parallel()
	rules := mixedRules(t, 1000)
	s := NewSet(rules)
	for _, r := range mixedRequests(1000) {
		if _, ok := s.Match(r); ok != scan(rules, r) {
			t.Errorf("%+v: %v", r, ok)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			rules := mixedRules(b, n)
			s, requests := NewSet(rules), mixedRequests(n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.Match(requests[i%len(requests)])
				i++
			}
			own := b.Elapsed() / time.Duration(b.N)
			rounds := max(1, 200_000/n)
			start := time.Now()
			for i := range rounds {
				scan(rules, requests[i%len(requests)])
			}
			b.ReportMetric(float64(time.Since(start))/float64(rounds)/float64(max(1, own)), "x-scan")
		})
	}
}

// BenchmarkMatchOneHost has every rule on one host, told apart by port, method
// and path.
func BenchmarkMatchOneHost(b *testing.B) {
	var rules []Rule
	for i := range 10_000 {
		rules = append(rules, mustRule(b, rule("api.example.com", itoa(1+i%5000), []string{"GET", "POST", "PUT"}[i%3], "/p"+itoa(i))))
	}
	s := NewSet(rules)
	r := Request{Host: "api.example.com", Port: 4001, Method: "GET", Path: "/p9000/x"}
	if _, ok := s.Match(r); !ok {
		b.Fatal("a miss")
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Match(r)
	}
}

func BenchmarkWithin(b *testing.B) {
	const n = 500
	mixed := mixedRules(b, n)
	var narrow, onePort, ranges, halves []Rule
	for i := range n {
		narrow = append(narrow, mustRule(b, rule("a.example.com", itoa(1+i), "GET POST", "/v1/p"+itoa(i))))
		onePort = append(onePort, mustRule(b, rule("*.example.com", itoa(1+i), "*", "/v1")))
		ranges = append(ranges, mustRule(b, rule(fmt.Sprintf("10.%d.%d.0/24", i>>8, i&0xff), "*", "*", "*")))
		halves = append(halves,
			mustRule(b, rule(fmt.Sprintf("10.%d.%d.0/25", i>>8, i&0xff), "*", "*", "*")),
			mustRule(b, rule(fmt.Sprintf("10.%d.%d.128/25", i>>8, i&0xff), "*", "*", "*")))
	}
	for _, c := range []struct {
		name     string
		a, bound []Rule
	}{
		{"mixed in itself", mixed, mixed},
		{"one host in a wildcard, port by port", narrow, onePort},
		{"ranges in their halves", ranges, halves},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, bound := NewSet(c.a), NewSet(c.bound)
			b.ReportAllocs()
			for b.Loop() {
				if w, ok := s.Within(bound); !ok {
					b.Fatal(w)
				}
			}
		})
		b.Run(c.name+", compiled each time", func(b *testing.B) {
			for b.Loop() {
				if w, ok := NewSet(c.a).Within(NewSet(c.bound)); !ok {
					b.Fatal(w)
				}
			}
		})
	}
}

// BenchmarkCompile parses and compiles the largest inputs that are expected.
func BenchmarkCompile(b *testing.B) {
	short := make([]string, 100_000)
	for i := range short {
		short[i] = fmt.Sprintf("h%d.d%d.example.com", i, i%1000)
	}
	unicode := make([]string, 50_000) // about 1 MB
	for i := range unicode {
		unicode[i] = fmt.Sprintf("bücher%d.beispiel.example", i)
	}
	var oneHost []sandbox.EgressRule
	for i := range 100_000 {
		oneHost = append(oneHost, rule("api.example.com", fmt.Sprintf("%d-%d", 1+i%30_000, 30_001+i%30_000), "M"+itoa(i%50), "/p"+itoa(i)))
	}
	run := func(name string, compile func(b *testing.B) *Set) {
		b.Run(name, func(b *testing.B) {
			var s *Set
			var before, after runtime.MemStats
			for b.Loop() {
				s = compile(b)
			}
			b.StopTimer()
			runtime.GC()
			runtime.ReadMemStats(&after)
			held := s.Len()
			s = nil
			runtime.GC()
			runtime.ReadMemStats(&before)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(held), "B/rule")
		})
	}
	fromShort := func(texts []string) func(b *testing.B) *Set {
		return func(*testing.B) *Set {
			rules := make([]Rule, len(texts))
			for i, text := range texts {
				rules[i], _ = ParseShort(text, nil)
			}
			return NewSet(rules)
		}
	}
	run("100,000 hosts", fromShort(short))
	run("50,000 U-labels", fromShort(unicode))
	run("100,000 rules of one host", func(b *testing.B) *Set {
		b.Helper()
		rules := make([]Rule, len(oneHost))
		for i, r := range oneHost {
			rules[i] = mustRule(b, r)
		}
		return NewSet(rules)
	})
}
