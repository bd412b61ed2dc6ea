package egress

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

var plainRule = sandbox.EgressRule{
	Host: "api.example.com", Ports: []string{"443"}, Methods: []string{"*"}, Paths: []string{"*"},
}

func with(change func(*sandbox.EgressRule)) sandbox.EgressRule {
	r := plainRule
	change(&r)
	return r
}

func mustRule(tb testing.TB, r sandbox.EgressRule) Rule {
	tb.Helper()
	rule, findings := ParseRule("", r, nil)
	if len(findings) > 0 {
		tb.Fatalf("%+v: %v", r, findings[0].Refusal(nil))
	}
	return rule
}

func mustSet(tb testing.TB, rules ...sandbox.EgressRule) *Set {
	tb.Helper()
	parsed := make([]Rule, len(rules))
	for i, r := range rules {
		parsed[i] = mustRule(tb, r)
	}
	return NewSet(parsed)
}

// hosts is a set of short-form rules.
func hosts(tb testing.TB, texts ...string) *Set {
	tb.Helper()
	rules := make([]Rule, len(texts))
	for i, text := range texts {
		r, findings := ParseShort(text, nil)
		if len(findings) > 0 {
			tb.Fatal(findings[0].Refusal(nil))
		}
		rules[i] = r
	}
	return NewSet(rules)
}

func TestRuleReadsAsPeopleWouldSayIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule                    sandbox.EgressRule
		want                    string
		ports, methods, paths   bool
		normalPorts, normalPath string
	}{
		{plainRule, "api.example.com:443", false, false, false, "443", "*"},
		{with(func(r *sandbox.EgressRule) { r.Methods = []string{"GET"}; r.Paths = []string{"/v1"} }), "api.example.com:443 (GET /v1/*)", false, true, true, "443", "/v1"},
		{with(func(r *sandbox.EgressRule) { r.Methods = []string{"POST", "GET"} }), "api.example.com:443 (GET, POST)", false, true, false, "443", "*"},
		{with(func(r *sandbox.EgressRule) { r.Paths = []string{"/b/*", "/a"} }), "api.example.com:443 (/a/*, /b/*)", false, false, true, "443", "/a /b"},
		{with(func(r *sandbox.EgressRule) { r.Paths = []string{"/a/b", "/a", "/a-b"} }), "api.example.com:443 (/a/*, /a-b/*)", false, false, true, "443", "/a /a-b"},
		{with(func(r *sandbox.EgressRule) { r.Paths = []string{"/"} }), "api.example.com:443", false, false, false, "443", "*"},
		{with(func(r *sandbox.EgressRule) { r.Paths = []string{"/*"} }), "api.example.com:443", false, false, false, "443", "*"},
		{with(func(r *sandbox.EgressRule) { r.Paths = []string{"/é/%c3%a9"} }), "api.example.com:443 (/%C3%A9/%C3%A9/*)", false, false, true, "443", "/%C3%A9/%C3%A9"},
		{with(func(r *sandbox.EgressRule) { r.Ports = []string{"*"} }), "api.example.com:*", true, false, false, "*", "*"},
		{with(func(r *sandbox.EgressRule) { r.Ports = []string{"1-65535"} }), "api.example.com:*", true, false, false, "*", "*"},
		{with(func(r *sandbox.EgressRule) { r.Ports = []string{"8000-8099", "80", "8100"} }), "api.example.com:80,8000-8100", true, false, false, "80 8000-8100", "*"},
		{with(func(r *sandbox.EgressRule) { r.Ports = []string{"443-443"} }), "api.example.com:443", false, false, false, "443", "*"},
		{with(func(r *sandbox.EgressRule) { r.Host = "2001:DB8::/32" }), "[2001:db8::/32]:443", false, false, false, "443", "*"},
		{with(func(r *sandbox.EgressRule) { r.Host = "10.0.0.0/8" }), "10.0.0.0/8:443", false, false, false, "443", "*"},
	} {
		r := mustRule(t, c.rule)
		if r.String() != c.want {
			t.Errorf("got %q, want %q", r, c.want)
		}
		if r.HasPorts() != c.ports || r.HasMethods() != c.methods || r.HasPaths() != c.paths {
			t.Errorf("%s: asks for ports %v, methods %v, paths %v", r, r.HasPorts(), r.HasMethods(), r.HasPaths())
		}
		if n := r.Normal(); strings.Join(n.Ports, " ") != c.normalPorts || strings.Join(n.Paths, " ") != c.normalPath {
			t.Errorf("%s: normal form %+v", r, n)
		}
	}
}

func TestShortFormIsPort443AnyMethodAnyPath(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"API.example.com.", "*.example.com", "192.0.2.1", "10.0.0.0/8"} {
		short, findings := ParseShort(host, nil)
		if len(findings) > 0 {
			t.Fatal(findings)
		}
		long := mustRule(t, with(func(r *sandbox.EgressRule) { r.Host = host }))
		if !short.Equal(long) || short.Name() != short.Host().String() || short.HasPorts() || short.HasMethods() || short.HasPaths() {
			t.Errorf("%s: short %s, long %s", host, short, long)
		}
	}
}

func TestEveryPartOfARuleMustBeStated(t *testing.T) {
	t.Parallel()
	for part, change := range map[string]func(*sandbox.EgressRule){
		"host":    func(r *sandbox.EgressRule) { r.Host = "" },
		"ports":   func(r *sandbox.EgressRule) { r.Ports = nil },
		"methods": func(r *sandbox.EgressRule) { r.Methods = []string{} },
		"paths":   func(r *sandbox.EgressRule) { r.Paths = nil },
	} {
		at := sandbox.FieldPath{sandbox.Attr("egress_rules"), sandbox.MapKey("api")}
		_, findings := ParseRule("api", with(change), at)
		if len(findings) != 1 || findings[0].Code != sandbox.CodeEgressRuleIncomplete || findings[0].Verdict != sandbox.Deny ||
			findings[0].Path.String() != `egress_rules["api"].`+part || findings[0].Remedy == "" {
			t.Errorf("%s: %+v", part, findings)
		}
	}
	_, findings := ParseRule("api", sandbox.EgressRule{}, nil)
	if len(findings) != 4 {
		t.Errorf("an empty rule gives %d findings, want all four", len(findings))
	}
}

func TestEveryBadElementIsFoundAtItsIndex(t *testing.T) {
	t.Parallel()
	_, findings := ParseRule("api", sandbox.EgressRule{
		Host:    "https://api.example.com",
		Ports:   []string{"443", "https", "0"},
		Methods: []string{"get", "GET"},
		Paths:   []string{"/ok", "/a/../b"},
	}, sandbox.Path("r"))
	var got []string
	for _, f := range findings {
		got = append(got, f.Locator())
	}
	want := []string{
		"egress.host_invalid at r.host", "egress.port_invalid at r.ports[1]", "egress.port_invalid at r.ports[2]",
		"egress.method_invalid at r.methods[0]", "egress.path_invalid at r.paths[1]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestListsRefuseWhatMeansNothing(t *testing.T) {
	t.Parallel()
	many := func(n int, text func(int) string) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = text(i)
		}
		return list
	}
	port := func(i int) string { return strconv.Itoa(2*i + 1) }
	method := func(i int) string { return "M" + strconv.Itoa(i) }
	path := func(i int) string { return "/p" + strconv.Itoa(i) }
	for _, c := range []struct {
		name    string
		bad, ok func(*sandbox.EgressRule)
		at, why string
	}{
		{"any port beside another", func(r *sandbox.EgressRule) { r.Ports = []string{"443", "*"} }, func(r *sandbox.EgressRule) { r.Ports = []string{"*"} }, "ports[1]", "every port"},
		{"any method beside another", func(r *sandbox.EgressRule) { r.Methods = []string{"*", "GET"} }, func(r *sandbox.EgressRule) { r.Methods = []string{"*"} }, "methods[0]", "every method"},
		{"any path beside another", func(r *sandbox.EgressRule) { r.Paths = []string{"/", "/v1"} }, func(r *sandbox.EgressRule) { r.Paths = []string{"/"} }, "paths[0]", "every path"},
		{"port twice", func(r *sandbox.EgressRule) { r.Ports = []string{"443", "443"} }, func(r *sandbox.EgressRule) { r.Ports = []string{"443", "444"} }, "ports[1]", "ports[0]"},
		{"method twice", func(r *sandbox.EgressRule) { r.Methods = []string{"GET", "PUT", "GET"} }, func(r *sandbox.EgressRule) { r.Methods = []string{"GET", "PUT"} }, "methods[2]", "methods[0]"},
		{"path twice, spelt differently", func(r *sandbox.EgressRule) { r.Paths = []string{"/v1", "/v1/*"} }, func(r *sandbox.EgressRule) { r.Paths = []string{"/v1", "/v2/*"} }, "paths[1]", "paths[0]"},
		{"too many ports", func(r *sandbox.EgressRule) { r.Ports = many(maxPorts+1, port) }, func(r *sandbox.EgressRule) { r.Ports = many(maxPorts, port) }, "ports", "at most"},
		{"too many methods", func(r *sandbox.EgressRule) { r.Methods = many(maxMethods+1, method) }, func(r *sandbox.EgressRule) { r.Methods = many(maxMethods, method) }, "methods", "at most"},
		{"too many paths", func(r *sandbox.EgressRule) { r.Paths = many(maxPaths+1, path) }, func(r *sandbox.EgressRule) { r.Paths = many(maxPaths, path) }, "paths", "at most"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, findings := ParseRule("", with(c.bad), nil)
			if len(findings) != 1 || findings[0].Path.String() != c.at || !strings.Contains(findings[0].Found, c.why) || findings[0].Remedy == "" {
				t.Errorf("got %+v, want one at %s about %q", findings, c.at, c.why)
			}
			mustRule(t, with(c.ok))
		})
	}
}

func TestPortsAreDecimalNumbersAndRanges(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"1", "443", "65535", "8000-8099", "1-2"} {
		if r, f := parsePortRange(ok); f != nil || r.String() != ok {
			t.Errorf("%q: %v %v", ok, r, f)
		}
	}
	for _, c := range []struct{ text, why, remedy string }{
		{"", "empty", `write "443"`},
		{"0", "not from 1 to 65535", ""},
		{"65536", "not from 1 to 65535", ""},
		{"99999999999999999999", "not from 1 to 65535", ""},
		{"0443", "leading zero", `write "443"`},
		{"8000-08099", "leading zero", `write "8000-8099"`},
		{"+443", `"+" at character 1 is not a digit`, ""},
		{"0x1bb", `"x" at character 2 is not a digit`, ""},
		{"443/tcp", `"/" at character 4 is not a digit`, ""},
		{" 443", "white space", `write "443"`},
		{"443\n", "white space", `write "443"`},
		{"٤٤٣", "(U+0664) at character 1 is not a digit", ""},
		{"https", "a word", `write "443"`},
		{"any", "a word", `write "*"`},
		{"-1", "only one end", ""},
		{"1-", "only one end", ""},
		{"8099-8000", "backwards", `write "8000-8099"`},
		{"1-2-3", `"-" at character 4`, ""},
		{"80,443", `"," at character 3`, ""},
	} {
		_, f := parsePortRange(c.text)
		if f == nil || !strings.Contains(f.why, c.why) || !strings.Contains(f.remedy, c.remedy) {
			t.Errorf("%q: %+v", c.text, f)
		}
	}
}

func TestMethodsAreTokensInUpperCase(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"GET", "M-SEARCH", "!#$%&'*+.^_`|~", "1", "CONNECT", strings.Repeat("M", maxMethod)} {
		if f := parseMethod(ok); f != nil {
			t.Errorf("%q: %+v", ok, f)
		}
	}
	for _, c := range []struct{ text, why, remedy string }{
		{"", "empty", ""},
		{"get", `"g" at character 1 is lower case`, `write "GET"`},
		{"Get", `"e" at character 2 is lower case`, `write "GET"`},
		{"GET ", `" " at character 4`, `write "GET"`},
		{"GET,POST", `"," at character 4`, `"GET", "POST"`},
		{"GET POST", `" " at character 4`, `"GET", "POST"`},
		{"GÉT", "(U+00C9) at character 2", ""},
		{"GET\x00", "character 4", ""},
		{strings.Repeat("M", maxMethod+1), "octets", ""},
	} {
		f := parseMethod(c.text)
		if f == nil || !strings.Contains(f.why, c.why) || !strings.Contains(f.remedy, c.remedy) {
			t.Errorf("%q: %+v", c.text, f)
		}
	}
}

func TestPathsArePrefixesOfWholeSegments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/": "", "/*": "", "/v1": "/v1", "/v1/*": "/v1", "/.a": "/.a", "/...": "/...", "/a:b@c": "/a:b@c", "/~a": "/~a",
		"/a%20b": "/a%20b", "/100%25": "/100%25", "/é": "/%C3%A9", "/%c3%a9": "/%C3%A9", "/a=b&c": "/a=b&c",
	} {
		if got, f := parsePath(text); f != nil || got != want {
			t.Errorf("%q: %q %+v", text, got, f)
		}
	}
	for _, c := range []struct{ text, why, remedy string }{
		{"", "empty", ""},
		{"v1", `"v" at character 1`, `write "/v1"`},
		{"/v1/", `"/" at character 4 ends it`, `write "/v1"`},
		{"//a", `"/" at character 2`, `write "/a"`},
		{"/a//b", `"/" at character 4`, `write "/a/b"`},
		{"/é//b", `"/" at character 4`, `write "/é/b"`},
		{"/..", `"." at character 2 begins a dot segment`, ""},
		{"/a/./b", `"." at character 4 begins a dot segment`, ""},
		{"/a/../b", `"." at character 4 begins a dot segment`, ""},
		{"/%2e%2e/a", `"%" at character 2`, ""},
		{"/.%2E/a", `"%" at character 3`, ""},
		{"/a%2eb", `"%" at character 3 escapes "."`, `write "/a.b"`},
		{"/%76%31", `"%" at character 2 escapes "v"`, ""},
		{"/a%2fb", `"%" at character 3 escapes a separator`, ""},
		{"/a%5Cb", `"%" at character 3 escapes a separator`, ""},
		{"/a%3bb", `"%" at character 3 escapes a separator`, ""},
		{"/a%00", `"%" at character 3 escapes a separator or a control`, ""},
		{"/a%252fb", `"%" at character 3 begins an escape of an escape`, ""},
		{"/a%25%32%66", `"%" at character 6`, ""},
		{"/a%c0%ae", `"%" at character 3 is not an escape of a UTF-8 character`, ""},
		{"/a%", `"%" at character 3 is not an escape`, ""},
		{"/a%zz", `"%" at character 3 is not an escape`, ""},
		{"/a?b", `"?" at character 3`, `write "/a"`},
		{"/a#b", `"#" at character 3`, `write "/a"`},
		{"/a;b", `";" at character 3`, `write "/a"`},
		{`/a\b`, `"\\" at character 3`, `write "/a/b"`},
		{"/a[b]", `"[" at character 3`, "write %5B"},
		{"/{id}", `"{" at character 2`, "write %7B"},
		{"/v1*", `"*" at character 4`, `write "/v1"`},
		{"/a/*/b", `"*" at character 4`, ""},
		{"/*/*", `"*" at character 2`, ""},
		{"/a b", `" " at character 3 is white space`, ""},
		{"/a ", `" " at character 3 is white space`, `write "/a"`},
		{"/a\u00a0b", `(U+00A0) at character 3 is white space`, ""},
		{"/a\x00", "at character 3", ""},
		{"/a\x7f", "at character 3", ""},
		{"/a\u200b", "(U+200B) at character 3", ""},
		{"/a\xff", "byte 0xFF at character 3", ""},
		{"/" + strings.Repeat("a", maxPath), "octets", ""},
	} {
		got, f := parsePath(c.text)
		if f == nil || !strings.Contains(f.why, c.why) || !strings.Contains(f.remedy, c.remedy) || f.remedy == "" {
			t.Errorf("%q: %q %+v", c.text, got, f)
		}
	}
}
