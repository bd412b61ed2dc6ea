package egress

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func rule(host, ports, methods, paths string) sandbox.EgressRule {
	return sandbox.EgressRule{Host: host, Ports: strings.Fields(ports), Methods: strings.Fields(methods), Paths: strings.Fields(paths)}
}

func TestWithinGivesAWitnessThatPeopleCanRead(t *testing.T) {
	t.Parallel()
	policy := []sandbox.EgressRule{
		rule("api.example.com", "443", "GET", "/v1"), rule("packages.example.org", "443", "*", "*"), rule("*.files.example.org", "443", "*", "*"),
		rule("10.0.0.0/8", "5432", "*", "*"), rule("2001:db8::/32", "443", "*", "*"), rule("ports.example.com", "80 443 8000-8099", "*", "*"), rule("get.example.com", "443", "GET HEAD", "*"), rule("deep.example.com", "443", "*", "/a /b/c"),
	}
	for _, c := range []struct {
		name string
		rule sandbox.EgressRule
		want string // empty when within
	}{
		{"the same host", rule("packages.example.org", "443", "*", "*"), ""},
		{"a name below a wildcard", rule("a.b.files.example.org", "443", "*", "*"), ""},
		{"a narrower wildcard", rule("*.a.files.example.org", "443", "GET", "*"), ""},
		{"the same wildcard", rule("*.files.example.org", "443", "*", "*"), ""},
		{"the apex of a wildcard", rule("files.example.org", "443", "*", "*"), "files.example.org:443"},
		{"a wildcard over names", rule("*.example.com", "443", "*", "*"), "evil.example.com:443"},
		{"a wildcard over a wildcard", rule("*.example.org", "443", "*", "*"), "evil.example.org:443"},
		{"another port", rule("packages.example.org", "8443", "*", "*"), "packages.example.org:8443"},
		{"any port", rule("packages.example.org", "*", "*", "*"), "packages.example.org:1"},
		{"any port of an unknown host", rule("elsewhere.example", "*", "*", "*"), "elsewhere.example:443"},
		{"ports that fit", rule("ports.example.com", "80 8000-8010 8090-8099", "*", "*"), ""},
		{"a range that sticks out", rule("ports.example.com", "8090-8100", "*", "*"), "ports.example.com:8100"},
		{"a range with a hole", rule("ports.example.com", "80-81", "*", "*"), "ports.example.com:81"},
		{"a method that is allowed", rule("get.example.com", "443", "HEAD", "/x"), ""},
		{"another method", rule("get.example.com", "443", "GET DELETE", "/x"), "get.example.com:443 (DELETE /x)"},
		{"any method", rule("get.example.com", "443", "*", "*"), "get.example.com:443 (DELETE /)"},
		{"a path below", rule("api.example.com", "443", "GET", "/v1/items"), ""},
		{"the path itself", rule("api.example.com", "443", "GET", "/v1"), ""},
		{"a longer segment", rule("api.example.com", "443", "GET", "/v10"), "api.example.com:443 (GET /v10)"},
		{"any path", rule("api.example.com", "443", "GET", "*"), "api.example.com:443 (GET /)"},
		{"method and path of different rules", rule("api.example.com", "443", "PUT", "/v1"), "api.example.com:443 (PUT /v1)"},
		{"paths of one rule", rule("deep.example.com", "443", "GET", "/a/x /b/c/d"), ""},
		{"a shorter path", rule("deep.example.com", "443", "GET", "/b"), "deep.example.com:443 (GET /b)"},
		{"an address in a range", rule("10.1.2.3", "5432", "*", "*"), ""},
		{"a range in a range", rule("10.1.0.0/16", "5432", "*", "*"), ""},
		{"a wider range", rule("10.0.0.0/7", "5432", "*", "*"), "11.0.0.0:5432"},
		{"every address", rule("0.0.0.0/0", "5432", "*", "*"), "0.0.0.0:5432"},
		{"the other family", rule("2001:db9::1", "443", "*", "*"), "[2001:db9::1]:443"},
		{"an address and a name", rule("192.0.2.1", "443", "*", "*"), "192.0.2.1:443"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, bound := mustSet(t, c.rule), mustSet(t, policy...)
			w, ok := a.Within(bound)
			if ok != (c.want == "") || w.String() != c.want {
				t.Fatalf("got %v, witness %q, want %q", ok, w, c.want)
			}
			if !ok {
				checkWitness(t, w, a, true, bound, false)
			}
		})
	}
}

func TestUnionOfNarrowRulesCoversAWideOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		wide sandbox.EgressRule
		all  []sandbox.EgressRule // the last one is needed
	}{
		{"halves of a range", rule("10.0.0.0/8", "443", "*", "*"), []sandbox.EgressRule{rule("10.0.0.0/9", "443", "*", "*"), rule("10.128.0.0/9", "443", "*", "*")}},
		{
			"uneven parts of a range", rule("10.0.0.0/30", "443", "*", "*"),
			[]sandbox.EgressRule{rule("10.0.0.0/31", "443", "*", "*"), rule("10.0.0.2", "443", "*", "*"), rule("10.0.0.3", "443", "*", "*")},
		},
		{"halves of everything", rule("0.0.0.0/0", "443", "*", "*"), []sandbox.EgressRule{rule("0.0.0.0/1", "443", "*", "*"), rule("128.0.0.0/1", "443", "*", "*")}},
		{
			"a range whose part is covered port by port", rule("10.0.0.0/31", "1-2", "*", "*"),
			[]sandbox.EgressRule{rule("10.0.0.0", "1-2", "*", "*"), rule("10.0.0.0/30", "1", "*", "*"), rule("10.0.0.1", "2", "*", "*")},
		},
		{"touching port ranges", rule("a.example", "1-100", "*", "*"), []sandbox.EgressRule{rule("a.example", "1-50", "*", "*"), rule("*.example", "51-100", "*", "*")}},
		{"every port", rule("a.example", "*", "*", "*"), []sandbox.EgressRule{rule("a.example", "1-442", "*", "*"), rule("a.example", "443", "*", "*"), rule("a.example", "444-65535", "*", "*")}},
		{"methods apart", rule("a.example", "443", "GET PUT", "/a"), []sandbox.EgressRule{rule("a.example", "443", "GET", "*"), rule("a.example", "443", "PUT", "/a")}},
		{"paths apart", rule("a.example", "443", "GET", "/a /b"), []sandbox.EgressRule{rule("a.example", "443", "*", "/a"), rule("a.example", "443", "GET", "/b")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := mustSet(t, c.wide)
			if w, ok := a.Within(mustSet(t, c.all...)); !ok {
				t.Fatalf("not covered: %s", w)
			}
			short := mustSet(t, c.all[:len(c.all)-1]...)
			w, ok := a.Within(short)
			if ok {
				t.Fatal("covered without the last rule")
			}
			checkWitness(t, w, a, true, short, false)
		})
	}
}

func TestWildcardBelowALongSuffixIsCoveredByItsFewNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	suffix := long + "." + long + "." + long + "." + strings.Repeat("b", 59) // 251: one character fits below
	wildcard := hosts(t, "*."+suffix)
	var names []string
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		names = append(names, string(c)+"."+suffix)
	}
	if w, ok := wildcard.Within(hosts(t, names...)); !ok {
		t.Fatalf("all 36 names do not cover it: %s", w)
	}
	missing := append(append([]string{}, names[:20]...), names[21:]...)
	bound := hosts(t, missing...)
	w, ok := wildcard.Within(bound)
	if ok || w.Host != names[20] {
		t.Fatalf("witness %s, want %s", w, names[20])
	}
	checkWitness(t, w, wildcard, true, bound, false)
}

func TestFreshNameIsOneTheBoundDoesNotMention(t *testing.T) {
	t.Parallel()
	a := hosts(t, "*.example.com")
	bound := hosts(t, "evil.example.com", "evil2.example.com", "evil3.example.com", "a.example.com", "*.b.example.com")
	w, ok := a.Within(bound)
	if ok || w.String() != "b.example.com:443" {
		t.Fatalf("witness %s", w)
	}
	checkWitness(t, w, a, true, bound, false)
}

func TestIPv4InIPv6IsNoGap(t *testing.T) {
	t.Parallel()
	// Everything in ::/0 but ::ffff:0:0/96, which holds no requests.
	hole := netip.MustParsePrefix("::ffff:0:0/96")
	var parts []string
	for bits := 1; bits <= hole.Bits(); bits++ {
		b := hole.Addr().As16()
		b[(bits-1)/8] ^= 0x80 >> ((bits - 1) % 8)
		parts = append(parts, netip.PrefixFrom(netip.AddrFrom16(b), bits).Masked().String())
	}
	all := hosts(t, "::/0")
	if w, ok := all.Within(hosts(t, parts...)); !ok {
		t.Fatalf("not covered: %s", w)
	}
	bound := hosts(t, parts[:len(parts)-1]...)
	w, ok := all.Within(bound)
	if ok {
		t.Fatal("covered with a gap")
	}
	checkWitness(t, w, all, true, bound, false)
}

func TestAnyMethodIsMoreThanEveryNamedOne(t *testing.T) {
	t.Parallel()
	a := mustSet(t, rule("a.example", "443", "*", "/x"))
	bound := mustSet(t, rule("a.example", "443", "DELETE PUT POST PATCH GET OPTIONS HEAD OTHER-1", "*"))
	w, ok := a.Within(bound)
	if ok || w.String() != "a.example:443 (OTHER-2 /x)" {
		t.Fatalf("witness %s", w)
	}
	checkWitness(t, w, a, true, bound, false)
}

func TestOverlapsFindsWhatIsShared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		a, b sandbox.EgressRule
		want string
	}{
		{"never reaches below a wildcard", rule("*.example.com", "443", "*", "*"), rule("*.internal.example.com", "*", "*", "*"), "evil.internal.example.com:443"},
		{"never reaches the name itself", rule("db.internal.example.com", "5432", "*", "*"), rule("*.internal.example.com", "*", "*", "*"), "db.internal.example.com:5432"},
		{"the apex is outside", rule("internal.example.com", "443", "*", "*"), rule("*.internal.example.com", "*", "*", "*"), ""},
		{"beside each other", rule("*.a.example.com", "443", "*", "*"), rule("*.b.example.com", "*", "*", "*"), ""},
		{"metadata in a range", rule("0.0.0.0/0", "80", "*", "*"), rule("169.254.0.0/16", "*", "*", "*"), "169.254.0.0:80"},
		{"an address in a range", rule("169.254.169.254", "80", "GET", "/latest"), rule("169.254.0.0/16", "*", "*", "*"), "169.254.169.254:80 (GET /latest/*)"},
		{"ranges beside each other", rule("10.0.0.0/9", "80", "*", "*"), rule("10.128.0.0/9", "*", "*", "*"), ""},
		{"other ports", rule("a.example", "80 8000-8010", "*", "*"), rule("a.example", "443 8011-8020", "*", "*"), ""},
		{"ports that touch", rule("a.example", "80 8000-8010", "*", "*"), rule("a.example", "443 8010-8020", "*", "*"), "a.example:8010"},
		{"other methods", rule("a.example", "443", "GET PUT", "*"), rule("a.example", "443", "POST", "*"), ""},
		{"a shared method", rule("a.example", "443", "GET PUT", "*"), rule("a.example", "443", "POST PUT", "*"), "a.example:443 (PUT /)"},
		{"paths beside each other", rule("a.example", "443", "*", "/a /b"), rule("a.example", "443", "*", "/ab /c"), ""},
		{"a path below another", rule("a.example", "443", "*", "/a /b"), rule("a.example", "443", "*", "/b/c /d"), "a.example:443 (GET /b/c)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := mustSet(t, c.a), mustSet(t, c.b)
			w, ok := a.Overlaps(b)
			if want := strings.ReplaceAll(c.want, "/*", ""); ok != (c.want != "") || w.String() != want {
				t.Fatalf("%v, witness %q, want %q", ok, w, want)
			}
			if back, again := b.Overlaps(a); again != ok {
				t.Fatalf("the other way round it is %v, %s", again, back)
			}
			if ok {
				checkWitness(t, w, a, true, b, true)
			}
		})
	}
}

func TestEnormousSetsAreCompiledAndCompared(t *testing.T) {
	t.Parallel()
	const n = 100_000
	rules := make([]Rule, 0, n)
	for i := range n {
		text := fmt.Sprintf("h%d.d%d.example.com", i, i%1000)
		switch i % 4 {
		case 1:
			text = "*." + text
		case 2:
			text = netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}).String()
		case 3:
			text = fmt.Sprintf("2001:db8:%x:%x::/64", i>>16, i&0xffff)
		}
		r, findings := ParseShort(text, nil)
		if len(findings) > 0 {
			t.Fatal(findings)
		}
		rules = append(rules, r)
	}
	s := NewSet(rules)
	if w, ok := s.Within(s); !ok {
		t.Fatalf("not within itself: %s", w)
	}
	bound := NewSet(rules[:n-1])
	w, ok := s.Within(bound)
	if ok || w.Rule != rules[n-1].Name() {
		t.Fatalf("the one rule more is not found: %s", w)
	}
}

func TestLargestRulesAreComparedInReasonableSteps(t *testing.T) {
	t.Parallel()
	var ports, methods, paths []string
	for i := range maxPorts {
		ports = append(ports, itoa(2*i+1))
		paths = append(paths, "/p"+itoa(i))
	}
	for i := range maxMethods {
		methods = append(methods, "M"+itoa(i))
	}
	largest := sandbox.EgressRule{Host: "*.example.com", Ports: ports, Methods: methods, Paths: paths}
	var rules []sandbox.EgressRule
	for range 200 {
		rules = append(rules, largest)
	}
	s := mustSet(t, rules...)
	if w, ok := s.Within(mustSet(t, largest)); !ok {
		t.Fatalf("not within itself: %s", w)
	}
	short := largest
	short.Paths = paths[:len(paths)-1]
	bound := mustSet(t, short)
	w, ok := s.Within(bound)
	if ok {
		t.Fatal("covered without its last path")
	}
	checkWitness(t, w, mustSet(t, largest), true, bound, false)
}
