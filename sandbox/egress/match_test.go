package egress

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func on443(host string) Request { return Request{Host: host, Port: 443} }

func TestWildcardCoversAnyDepthAndNeverTheApex(t *testing.T) {
	t.Parallel()
	s := hosts(t, "*.example.com", "exact.example.net")
	for host, want := range map[string]bool{
		"a.example.com": true, "a.b.example.com": true, "xn--bcher-kva.example.com": true,
		"example.com": false, "aexample.com": false, "example.com.evil.example": false, "com": false,
		"exact.example.net": true, "a.exact.example.net": false, "example.net": false,
	} {
		if _, ok := s.Match(on443(host)); ok != want {
			t.Errorf("%s: %v", host, ok)
		}
	}
}

func TestNamesOutsideNormalFormMatchNothing(t *testing.T) {
	t.Parallel()
	s := hosts(t, "*.example.com", "example.com")
	for _, host := range []string{
		"", ".", ".example.com", "..example.com", "a..example.com", "A.example.com", "a.example.com.", "example.com.", " example.com",
		"a b.example.com", "a\x00.example.com", "a/b.example.com", "a:1.example.com", "*.example.com", "_a.example.com", "a_b.example.com",
		"-a.example.com", "a-.example.com", "ab--c.example.com", "é.example.com", "\u200b.example.com", "%61.example.com",
		strings.Repeat("a", 64) + ".example.com", strings.Repeat("a.", 122) + "example.com", "1.2.3.4", "0x7f.1", "com\nexample.com",
	} {
		if rule, ok := s.Match(on443(host)); ok {
			t.Errorf("%q matches %s", host, rule)
		}
	}
	if _, ok := s.Match(on443(strings.Repeat("a.", 121) + "example.com")); !ok {
		t.Error("the longest name does not match")
	}
}

func TestNamesAndAddressesNeverCoverEachOther(t *testing.T) {
	t.Parallel()
	names, addresses := hosts(t, "*.com", "example.com"), hosts(t, "0.0.0.0/0", "::/0")
	if _, ok := addresses.Match(on443("example.com")); ok {
		t.Error("an address rule admits a name")
	}
	v4 := netip.MustParseAddr("192.0.2.1")
	if _, ok := names.Match(Request{Addr: v4, Port: 443}); ok {
		t.Error("a name rule admits an address")
	}
	if _, ok := addresses.Match(Request{Addr: v4, Port: 443}); !ok {
		t.Error("the address itself is refused")
	}
	if _, ok := addresses.Match(Request{Host: "example.com", Addr: v4, Port: 443}); ok {
		t.Error("a request with both is admitted")
	}
	if _, ok := addresses.Match(Request{Port: 443}); ok {
		t.Error("a request with neither is admitted")
	}
	if w, ok := names.Overlaps(addresses); ok {
		t.Errorf("they overlap in %s", w)
	}
}

func TestOneAddressFamilySaysNothingOfTheOther(t *testing.T) {
	t.Parallel()
	s := hosts(t, "0.0.0.0/0", "2001:db8::/32")
	all6 := hosts(t, "::/0")
	for addr, want := range map[string][2]bool{
		"192.0.2.1":        {true, false},
		"2001:db8::1":      {true, true},
		"2001:db9::1":      {false, true},
		"::ffff:192.0.2.1": {false, false},
		"fe80::1%eth0":     {false, false},
		"::":               {false, true},
	} {
		r := Request{Addr: netip.MustParseAddr(addr), Port: 443}
		_, first := s.Match(r)
		_, second := all6.Match(r)
		if first != want[0] || second != want[1] {
			t.Errorf("%s: %v %v, want %v", addr, first, second, want)
		}
	}
}

func TestNestedRangesAreAllLookedAt(t *testing.T) {
	t.Parallel()
	rule := func(host, port string) sandbox.EgressRule {
		return with(func(r *sandbox.EgressRule) { r.Host, r.Ports = host, []string{port} })
	}
	s := mustSet(t, rule("10.0.0.0/8", "1"), rule("10.1.0.0/16", "2"), rule("10.1.2.0/24", "3"), rule("10.1.3.0/24", "4"), rule("10.1.2.3", "5"), rule("11.0.0.0/8", "6"))
	for _, c := range []struct {
		addr string
		port uint16
		rule string
	}{
		{"10.1.2.3", 1, "10.0.0.0/8"},
		{"10.1.2.3", 2, "10.1.0.0/16"},
		{"10.1.2.3", 3, "10.1.2.0/24"},
		{"10.1.2.3", 5, "10.1.2.3"},
		{"10.1.2.3", 4, ""},
		{"10.1.2.4", 3, "10.1.2.0/24"},
		{"10.1.2.4", 5, ""},
		{"10.1.3.9", 2, "10.1.0.0/16"},
		{"10.2.0.0", 1, "10.0.0.0/8"},
		{"10.255.255.255", 1, "10.0.0.0/8"},
		{"11.0.0.0", 1, ""},
		{"11.0.0.0", 6, "11.0.0.0/8"},
		{"9.255.255.255", 1, ""},
		{"12.0.0.0", 6, ""},
	} {
		rule, ok := s.Match(Request{Addr: netip.MustParseAddr(c.addr), Port: c.port})
		if ok != (c.rule != "") || ok && rule.Name() != c.rule {
			t.Errorf("%s:%d: %v %v, want %q", c.addr, c.port, rule, ok, c.rule)
		}
	}
}

func TestConnectionLevelNeedsARuleWithoutMethodsAndPaths(t *testing.T) {
	t.Parallel()
	plain := mustSet(t, plainRule)
	methods := mustSet(t, with(func(r *sandbox.EgressRule) { r.Methods = []string{"GET"} }))
	paths := mustSet(t, with(func(r *sandbox.EgressRule) { r.Paths = []string{"/v1"} }))
	for _, c := range []struct {
		method, path           string
		plain, methods, onPath bool
	}{
		{"", "", true, false, false},
		{"GET", "/v1", true, true, true},
		{"get", "/v1", true, false, true},
		{"POST", "/v1/x", true, false, true},
		{"GET", "/v2", true, true, false},
		{"OPTIONS", "*", true, false, false},
		{"GET", "", true, true, false},
		{"", "/v1", true, false, true},
	} {
		r := Request{Host: "api.example.com", Port: 443, Method: c.method, Path: c.path}
		_, a := plain.Match(r)
		_, b := methods.Match(r)
		_, d := paths.Match(r)
		if a != c.plain || b != c.methods || d != c.onPath {
			t.Errorf("%q %q: plain %v, methods %v, paths %v", c.method, c.path, a, b, d)
		}
	}
}

func TestPathsMatchBySegmentAndHostilePathsNever(t *testing.T) {
	t.Parallel()
	s := mustSet(t, with(func(r *sandbox.EgressRule) { r.Paths = []string{"/v1", "/é", "/a%20b/c"} }))
	for path, want := range map[string]bool{
		"/v1": true, "/v1/": true, "/v1/x": true, "/v1/x/": true, "/v1/x%20y": true, "/v1/...": true, "/v1/.x": true, "/v1/x..y": true, "/v1/%C3%A9": true, "/v1/100%25": true, "/v1/a*b": true,
		"/v1x": false, "/v10": false, "/V1": false, "/v1-x": false, "/": false, "/x/v1": false, "/%761": false, "/v%31": false,
		"/%C3%A9/x": true, "/%c3%a9/x": false, "/a%20b/c": true, "/a b/c": false,
		// What two readers could take for two paths.
		"/v1/../admin": false, "/v1/..": false, "/v1/.": false, "/v1/./x": false, "/v1/%2e%2e/admin": false, "/v1/.%2E/admin": false, "/v1/%2e": false, "/../v1": false, "/v1/..%2fadmin": false,
		"/v1%2fx": false, "/v1/%2Fx": false, "/v1/%5cx": false, `/v1/\x`: false, `/v1\..\x`: false, "//v1": false, "/v1//x": false, "/v1/x//": false,
		"/v1;x": false, "/v1/..;/admin": false, "/v1/%3bx": false, "/v1/%00": false, "/v1/%0a": false, "/v1/%7f": false, "/v1/\x00": false, "/v1/x y": false, "/v1/\u00e9": false, "/v1/\xff": false,
		"/v1/%252e%252e/x": false, "/v1/%252f": false, "/v1/%25%32%66": false, "/v1/%c0%ae%c0%ae/x": false, "/v1/%e0%80%ae": false, "/v1/%ff": false, "/v1/%c2%85": false, "/v1/%": false, "/v1/%2": false, "/v1/%zz": false, "/v1/%u002e": false,
		"/v1?x": false, "/v1#x": false, "v1": false, "http://api.example.com/v1": false, "*": false,
	} {
		if _, ok := s.Match(Request{Host: "api.example.com", Port: 443, Method: "GET", Path: path}); ok != want {
			t.Errorf("%q: %v", path, ok)
		}
	}
}

func TestMatchNamesTheMostSpecificHost(t *testing.T) {
	t.Parallel()
	s := hosts(t, "*.com", "*.example.com", "api.example.com", "10.0.0.0/8", "10.1.0.0/16")
	for host, want := range map[string]string{"api.example.com": "api.example.com", "b.example.com": "*.example.com", "b.com": "*.com"} {
		if rule, ok := s.Match(on443(host)); !ok || rule.Name() != want {
			t.Errorf("%s: %v", host, rule)
		}
	}
	if rule, ok := s.Match(Request{Addr: netip.MustParseAddr("10.1.0.1"), Port: 443}); !ok || rule.Name() != "10.1.0.0/16" {
		t.Errorf("address: %v", rule)
	}
}

func TestManyRulesOfOneHostAreFoundByPort(t *testing.T) {
	t.Parallel()
	var rules []Rule
	for i := range 400 {
		r := with(func(r *sandbox.EgressRule) {
			r.Ports = []string{fmt.Sprintf("%d-%d", 1+i*100, 1+i*100+i%150)}
			r.Methods = []string{"M" + itoa(i%7)}
			r.Paths = []string{"/p" + itoa(i%11), "/q/" + itoa(i)}
		})
		rules = append(rules, mustRule(t, r))
	}
	s := NewSet(rules)
	for port := uint16(1); port < 41_000; port += 1009 {
		for i := range 77 {
			r := Request{Host: "api.example.com", Port: port, Method: "M" + itoa(i%7), Path: "/p" + itoa(i%11) + "/x"}
			if _, ok := s.Match(r); ok != naive(rules, r) {
				t.Fatalf("%+v: %v", r, ok)
			}
		}
	}
}

func TestNilSetIsEmpty(t *testing.T) {
	t.Parallel()
	var empty *Set
	full := hosts(t, "example.com")
	if _, ok := empty.Match(on443("example.com")); ok || empty.Len() != 0 || empty.Rules() != nil || empty.Hint(on443("a")) != "" {
		t.Error("the nil set is not empty")
	}
	if _, ok := empty.Within(full); !ok {
		t.Error("nothing is not within something")
	}
	if w, ok := full.Within(empty); ok || w.String() != "example.com:443" {
		t.Errorf("something is within nothing: %s", w)
	}
	if _, ok := full.Overlaps(empty); ok || !empty.Equal(NewSet(nil)) || !NewSet(nil).Equal(empty) || full.Equal(empty) {
		t.Error("the nil set has something")
	}
	if zero := NewSet([]Rule{{}}); !zero.Equal(empty) {
		t.Error("the zero rule admits something")
	}
}

func TestSetIsNotChangedThroughItsRules(t *testing.T) {
	t.Parallel()
	r := mustRule(t, with(func(r *sandbox.EgressRule) { r.Methods, r.Paths = []string{"GET"}, []string{"/v1"} }))
	rules := []Rule{r}
	s := NewSet(rules)
	rules[0] = Rule{}
	s.Rules()[0] = Rule{}
	r.Methods()[0], r.Paths()[0], r.Ports()[0] = "PUT", "/v2", PortRange{1, 2}
	if _, ok := s.Match(Request{Host: "api.example.com", Port: 443, Method: "GET", Path: "/v1"}); !ok {
		t.Error("somebody outside changed the set")
	}
}

func TestHintNamesTheRuleThatIsNear(t *testing.T) {
	t.Parallel()
	s := mustSet(t,
		with(func(r *sandbox.EgressRule) { r.Host = "example.com" }),
		with(func(r *sandbox.EgressRule) { r.Host = "*.example.net" }),
		with(func(r *sandbox.EgressRule) { r.Methods, r.Paths = []string{"GET"}, []string{"/v1"} }),
		with(func(r *sandbox.EgressRule) { r.Host = "10.0.0.0/8" }))
	for _, c := range []struct {
		request Request
		want    string
	}{
		{on443("deb.example.com"), `add "*.example.com" or "deb.example.com"`},
		{on443("example.net"), `add "example.net"`},
		{Request{Host: "example.com", Port: 8080}, "not port 8080"},
		{Request{Addr: netip.MustParseAddr("10.0.0.1"), Port: 80}, "not port 80"},
		{on443("api.example.com"), "a tunnel that hides them"},
		{Request{Host: "api.example.com", Port: 443, Method: "PUT", Path: "/v1"}, `not method "PUT"`},
		{Request{Host: "api.example.com", Port: 443, Method: "GET", Path: "/v2"}, `not path "/v2"`},
		{Request{Host: "api.example.com", Port: 443, Method: "GET", Path: "/v1/../v2"}, `"." at character 5 begins a dot segment`},
		{Request{Host: "api.example.com", Port: 443, Method: "GET"}, "the request has none"},
		{on443("elsewhere.example"), ""},
		{on443("example.com"), ""},
	} {
		if got := s.Hint(c.request); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v: hint %q, want %q", c.request, got, c.want)
		}
	}
}

func TestPathsOfSeveralRulesAreJoined(t *testing.T) {
	t.Parallel()
	s := mustSet(t, rule("a.example", "443", "GET", "/a/b /c/d"), rule("a.example", "443", "GET", "/a /c"), rule("a.example", "443", "GET", "/c/d/e /a-b"))
	for path, want := range map[string]bool{
		"/a": true, "/a/a": true, "/a/b": true, "/a/b/c": true, "/a/c": true, "/a-b/c": true, "/a-c": false, "/ab": false,
		"/c/c": true, "/c/d/z": true, "/c/e": true, "/b": false, "/d": false, "/": false,
	} {
		if _, ok := s.Match(Request{Host: "a.example", Port: 443, Method: "GET", Path: path}); ok != want {
			t.Errorf("%s: %v", path, ok)
		}
	}
}
