package egress

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

var hostSeeds = []string{
	"example.com", "API.Example.COM.", "*.example.com", "bücher.example", "xn--bcher-kva.example", "a.0xg",
	"10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::1", "::ffff:10.0.0.1", "::ffff:0:0/96", "fe80::1%eth0", "[::1]:443",
	"0x7f.1", "0177.0.0.1", "2130706433", "127.1", "1.2.3.4.", "256.1.1.1", "10.0.0.1/08", "1/2",
	"https://user@example.com:443/v1?q#f", "example.com:443", "a.com,b.com", "a.com b.com", "*", "**", "*.", "*.*.a.b", "api*.a.b", "*a.b", "a.*",
	"a..b", ".a", "a.", "a..", "-a.b", "a-.b", "a_b.c", "ab--c.d", "xn--a.b", "xn--abc-.b", "\u212aelvin.example", "１２７.0.0.1", "a。b", "a\u200bb", "a\u00adb", "\ufeffa.b", "a\x00b", "a\xffb",
	"נ.a", "a\u200d.b", strings.Repeat("a.", 126) + "a", strings.Repeat("a", 64) + ".b", "ß.example", "_dmarc.a.b", "a\\b", "%61.b", "a@", ":", "/", "//a", "[", "]", "é:1",
}

var suggestion = regexp.MustCompile(`write ("(?:[^"\\]|\\.)*")`)

// checkRefusal holds a refusal to what every refusal promises.
func checkRefusal(t *testing.T, text string, err error, accepts func(string) error) {
	t.Helper()
	r := sandbox.RefusalOf(err)
	if r == nil || !r.Code.Known() || r.Found == "" || r.Required == "" || r.Remedy == "" || r.Path != nil {
		t.Fatalf("%q: incomplete refusal %+v", text, err)
	}
	for _, m := range suggestion.FindAllStringSubmatch(r.Remedy, -1) {
		meant, err := strconv.Unquote(m[1])
		if err != nil {
			t.Fatalf("%q: unreadable remedy %s", text, r.Remedy)
		}
		if err := accepts(meant); err != nil {
			t.Fatalf("%q: the remedy %q is refused too: %v", text, meant, err)
		}
	}
	for _, c := range r.Error() {
		if c < ' ' || c == 0x7f {
			t.Fatalf("%q: the message has a control character: %q", text, r.Error())
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, s := range hostSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHost(text)
		if err != nil {
			checkRefusal(t, text, err, func(s string) error { _, err := ParseHost(s); return err })
			if h != (Host{}) {
				t.Fatalf("%q is refused and gives %s", text, h)
			}
			return
		}
		again, err := ParseHost(h.String())
		if err != nil || again != h || again.String() != h.String() {
			t.Fatalf("%q: normal form %q parses to %q, %v", text, h, again, err)
		}
		if !isASCII(h.String()) || h.String() == "" {
			t.Fatalf("%q: normal form %q", text, h)
		}
		if h.IsAddress() {
			return
		}
		if !validName(h.Name()) {
			t.Fatalf("%q: %q is a normal form that the matcher would not take", text, h)
		}
		if _, err := netip.ParseAddr(h.Name()); err == nil {
			t.Fatalf("%q: an address parsed as the name %q", text, h)
		}
		if _, ok := inetAton(h.Name()); ok {
			t.Fatalf("%q: the C library reads %q as an address", text, h)
		}
	})
}

func FuzzParseRequestHost(f *testing.F) {
	for _, s := range hostSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, addr, err := ParseRequestHost(text)
		if err != nil {
			checkRefusal(t, text, err, func(s string) error { _, err := ParseHost(s); return err })
			return
		}
		if (name == "") == !addr.IsValid() {
			t.Fatalf("%q: name %q and address %s", text, name, addr)
		}
		r, findings := ParseShort(text, nil)
		if strings.HasPrefix(text, "[") {
			r, findings = ParseShort(text[1:len(text)-1], nil)
		}
		if len(findings) > 0 {
			t.Fatalf("%q is a host on the wire and not in a rule: %v", text, findings)
		}
		if _, ok := NewSet([]Rule{r}).Match(Request{Host: name, Addr: addr, Port: 443}); !ok {
			t.Fatalf("%q does not match itself", text)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{
		"/", "/*", "*", "/v1", "/v1/*", "/v1/", "//a", "/a//b", "/..", "/a/./b", "/%2e%2e/a", "/%2E", "/a%2fb", "/a%5Cb", "/a%3bb", "/%41", "/%c3%a9", "/é", "/a%", "/a%zz",
		"/a%252f", "/a%25%32f", "/%c0%ae", "/%e0%80%ae", "/a b", "/a;b", "/a?b", "/a#b", "/a[b]", "/a\\b", "/a*", "/a/*/b", "a", "/a\x00", "/a\u00a0b", "/{id}", "/%00", "/%7f", "/...", "/~a", "/a:b@c", "/\xff",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, text, requested string) {
		normal, fault := parsePath(text)
		if fault != nil {
			err := fault.finding("path", text, nil).Refusal(nil)
			checkRefusal(t, text, err, func(s string) error {
				if _, f := parsePath(s); f != nil {
					return f.finding("path", s, nil).Refusal(nil)
				}
				return nil
			})
			return
		}
		if normal == "" {
			return
		}
		if again, f := parsePath(normal); f != nil || again != normal {
			t.Fatalf("%q: normal form %q parses to %q, %v", text, normal, again, f)
		}
		if _, kind := pathFlaw(normal); kind != pathSound {
			t.Fatalf("%q: a rule path with a flaw: %s", text, kind)
		}
		_, kind := pathFlaw(requested)
		if got, want := kind != pathSound, naiveHostile(requested); requested != "" && got != want {
			t.Fatalf("%q: flawed %v (%s), decoding says %v", requested, got, kind, want)
		}
		got := kind == pathSound && underPath(requested, normal)
		if want := naivePath([]string{normal}, requested); got != want {
			t.Fatalf("%q under %q: %v, segment by segment %v", requested, normal, got, want)
		}
	})
}

func FuzzParseElements(f *testing.F) {
	for _, s := range []string{"443", "0", "65536", "080", "8000-8099", "8099-8000", "-1", "1-", "-", "1-2-3", "https", " 443", "+1", "*", "GET", "get", "GET,POST", "A B", "!#$%&'*+.^_`|~", "\x00", "", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if r, fault := parsePortRange(text); fault != nil {
			checkRefusal(t, text, fault.finding("port", text, nil).Refusal(nil), func(s string) error {
				if s == "*" {
					return nil
				}
				if _, f := parsePortRange(s); f != nil {
					return f.finding("port", s, nil).Refusal(nil)
				}
				return nil
			})
		} else if again, f := parsePortRange(r.String()); r != everyPort[0] && (f != nil || again != r) {
			t.Fatalf("%q: normal form %q parses to %v", text, r, again)
		}
		if fault := parseMethod(text); fault != nil {
			checkRefusal(t, text, fault.finding("method", text, nil).Refusal(nil), func(s string) error {
				if f := parseMethod(s); f != nil {
					return f.finding("method", s, nil).Refusal(nil)
				}
				return nil
			})
		}
	})
}

// FuzzMatch makes rules and a request from text and holds the matcher against the
// naive scan.
func FuzzMatch(f *testing.F) {
	f.Add("*.example.com\nexample.com\n10.0.0.0/8", "443 8000-8099", "GET", "/v1 /v2", "api.example.com", uint16(443), "GET", "/v1/x")
	f.Add("a.b\n*.b", "*", "*", "*", "..b", uint16(1), "", "")
	f.Add("::/0", "*", "*", "*", "::ffff:1.2.3.4", uint16(1), "", "")
	f.Add("a", "443", "*", "/a", "a", uint16(443), "GET", "/a/%2e%2e/b")
	f.Fuzz(func(t *testing.T, hosts, ports, methods, paths, host string, port uint16, method, path string) {
		var rules []Rule
		for i, h := range strings.Split(hosts, "\n") {
			rule := sandbox.EgressRule{Host: h, Ports: strings.Fields(ports), Methods: strings.Fields(methods), Paths: strings.Fields(paths)}
			if i%2 == 1 {
				rule.Methods, rule.Paths = []string{"*"}, []string{"*"}
			}
			if r, findings := ParseRule("", rule, nil); len(findings) == 0 {
				rules = append(rules, r)
			}
		}
		r := Request{Host: host, Port: port, Method: method, Path: path}
		if addr, err := netip.ParseAddr(host); err == nil {
			r.Host, r.Addr = "", addr
		}
		if h, err := ParseHost(r.Host); r.Host != "" && err != nil && validName(r.Host) && !hasACE(r.Host) {
			t.Fatalf("the matcher takes %q, the parser does not: %v %v", r.Host, h, err)
		}
		if hasACE(r.Host) {
			return // the matcher does not decode A-labels
		}
		s := NewSet(rules)
		rule, got := s.Match(r)
		if want := naive(rules, r); got != want {
			t.Fatalf("%+v: match %v, scan %v of %v", r, got, want, texts(s))
		}
		if got && !naiveRule(*rule, r) {
			t.Fatalf("%+v: rule %s does not admit it", r, rule)
		}
		if hint := s.Hint(r); got && hint != "" {
			t.Fatalf("%+v: admitted with a hint %q", r, hint)
		}
	})
}
