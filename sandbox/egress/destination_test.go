package egress

import (
	"net/netip"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func destinations(t *testing.T) *Set {
	t.Helper()
	var rules []Rule
	for name, r := range map[string]sandbox.EgressRule{
		"wide":  {Host: "*.example.com", Ports: []string{"443"}, Methods: []string{"*"}, Paths: []string{"*"}},
		"api":   {Host: "api.example.com", Ports: []string{"8443"}, Methods: []string{"GET"}, Paths: []string{"/v1"}},
		"range": {Host: "10.0.0.0/8", Ports: []string{"80"}, Methods: []string{"*"}, Paths: []string{"*"}},
		"one":   {Host: "10.1.2.3", Ports: []string{"443"}, Methods: []string{"PUT"}, Paths: []string{"*"}},
	} {
		rule, findings := ParseRule(name, r, nil)
		if len(findings) > 0 {
			t.Fatal(findings)
		}
		rules = append(rules, rule)
	}
	return NewSet(rules)
}

func TestADestinationIsOpenWhereSomeRequestWouldBeAdmitted(t *testing.T) {
	t.Parallel()
	s := destinations(t)
	for _, c := range []struct {
		request Request
		opens   bool
		near    string
	}{
		{Request{Host: "api.example.com", Port: 8443}, true, "api"},
		{Request{Host: "api.example.com", Port: 443}, true, "api"},
		{Request{Host: "api.example.com", Port: 8443, Method: "DELETE", Path: "/"}, true, "api"},
		{Request{Host: "api.example.com", Port: 80}, false, "api"},
		{Request{Host: "www.example.com", Port: 443}, true, "wide"},
		{Request{Host: "www.example.com", Port: 8443}, false, "wide"},
		{Request{Host: "example.com", Port: 443}, false, ""},
		{Request{Host: "WWW.example.com", Port: 443}, false, ""},
		{Request{Addr: netip.MustParseAddr("10.1.2.3"), Port: 443}, true, "one"},
		{Request{Addr: netip.MustParseAddr("10.1.2.3"), Port: 80}, true, "one"},
		{Request{Addr: netip.MustParseAddr("10.1.2.4"), Port: 443}, false, "range"},
		{Request{Addr: netip.MustParseAddr("::ffff:10.1.2.3"), Port: 443}, false, ""},
		{Request{Addr: netip.MustParseAddr("11.1.2.3"), Port: 443}, false, ""},
		{Request{Host: "www.example.com"}, false, ""},
		{Request{Port: 443}, false, ""},
		{Request{Host: "api.example.com", Addr: netip.MustParseAddr("10.1.2.3"), Port: 443}, false, ""},
	} {
		if got := s.Opens(c.request); got != c.opens {
			t.Errorf("%+v: opens %v, want %v", c.request, got, c.opens)
		}
		near := ""
		if rule := s.Near(c.request); rule != nil {
			near = rule.Name()
		}
		if near != c.near {
			t.Errorf("%+v: near %q, want %q", c.request, near, c.near)
		}
	}
	var empty *Set
	if empty.Opens(Request{Host: "a.b", Port: 443}) || empty.Near(Request{Host: "a.b", Port: 443}) != nil {
		t.Error("the empty set opens something")
	}
}

func TestWhatIsAddedAdmitsTheRequestAndNoOtherMethodOrPath(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Request{
		`"cdn.example.net"`: {Host: "cdn.example.net", Port: 443},
		`cdn = { host = "cdn.example.net", ports = [8443], methods = ["*"], paths = ["*"] }`:     {Host: "cdn.example.net", Port: 8443},
		`cdn = { host = "cdn.example.net", ports = [443], methods = ["POST"], paths = ["/v1"] }`: {Host: "cdn.example.net", Port: 443, Method: "POST", Path: "/v1/"},
		`rule = { host = "192.0.2.1", ports = [80], methods = ["GET"], paths = ["*"] }`:          {Addr: netip.MustParseAddr("192.0.2.1"), Port: 80, Method: "GET", Path: "/"},
		`rule = { host = "2001:db8::1", ports = [80], methods = ["GET"], paths = ["*"] }`:        {Addr: netip.MustParseAddr("2001:db8::1"), Port: 80, Method: "GET", Path: "/a//b"},
	} {
		add := AdditionFor(r)
		if got := add.HCL(add.Key()); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		rule, findings := ParseRule("", add.Rule, nil)
		if _, ok := NewSet([]Rule{rule}).Match(r); len(findings) > 0 || !ok {
			t.Errorf("%+v is not admitted by what is added, %s", r, rule)
		}
		if flawed := r.Path == "/a//b"; (add.Unnamed != "") != flawed {
			t.Errorf("%+v: unnamed is %q", r, add.Unnamed)
		}
	}
	if got := HCLString("${a} %{b}"); got != `"$${a} %%{b}"` {
		t.Errorf("a template survives: %s", got)
	}
}

// A path on the wire may look like a pattern, and is none.
func TestWhatIsAddedTakesNoRequestForAPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, path, unnamed string }{
		{"GET", "/*", "path"},
		{"GET", "/a/*", "path"},
		{"GET", "/a/*/", "path"},
		{"GET", "//", "path"},
		{"GET", "*", "path"},
		{"*", "/a", "method"},
		{"*", "/*", "method"},
		{"get", "/a", "method"},
		{"GET", "/%41", "path"},
		{"GET", "/%c3%a9", "path"},
		{"GET", "/a", ""},
		{"GET", "/a/", ""},
		{"GET", "/", ""},
		{"GET", "/%C3%A9", ""},
		{"G*T", "/a", ""},
		{"", "", ""},
	} {
		r := Request{Host: "api.example.com", Port: 443, Method: c.method, Path: c.path}
		add := AdditionFor(r)
		if add.Unnamed != c.unnamed {
			t.Errorf("%s %s: unnamed is %q, want %q", c.method, c.path, add.Unnamed, c.unnamed)
		}
		if add.Unnamed != "" || c.path == "/" || c.path == "" {
			continue
		}
		rule, _ := ParseRule("", add.Rule, nil)
		for _, other := range []Request{
			{Host: r.Host, Port: 443, Method: c.method, Path: "/admin"}, {Host: r.Host, Port: 443, Method: "DELETE", Path: c.path},
		} {
			if _, ok := NewSet([]Rule{rule}).Match(other); ok {
				t.Errorf("%s %s brings %+v", c.method, c.path, other)
			}
		}
	}
}
