package translate_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/translate"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// set is what a translation admits.
func set(t *rapid.T, p sandbox.Policy) *egress.Set {
	var rules []egress.Rule
	for _, host := range p.Egress.Hosts {
		rule, findings := egress.ParseShort(host, nil)
		if len(findings) > 0 {
			t.Fatalf("%v", findings)
		}
		rules = append(rules, rule)
	}
	for name, text := range p.Egress.Rules {
		rule, findings := egress.ParseRule(name, text, nil)
		if len(findings) > 0 {
			t.Fatalf("%v", findings)
		}
		rules = append(rules, rule)
	}
	return egress.NewSet(rules)
}

// universe is every request that the properties ask about.
func universe(hosts, addresses []string, ports []uint16, methods, paths []string) []egress.Request {
	var all []egress.Request
	for _, port := range ports {
		for _, method := range methods {
			for _, path := range paths {
				for _, host := range hosts {
					all = append(all, egress.Request{Host: host, Port: port, Method: method, Path: path})
				}
				for _, addr := range addresses {
					all = append(all, egress.Request{Addr: netip.MustParseAddr(addr), Port: port, Method: method, Path: path})
				}
			}
		}
	}
	return all
}

// holds compares a source, as its documentation says what it means, with what was
// made of it: never wider but where a loss says so, never narrower without one.
func holds(t *rapid.T, source translate.Source, input string, requests []egress.Request, admits func(egress.Request) bool) {
	tr, err := translate.Read(source, []byte(input))
	if err != nil {
		t.Fatalf("%v\n%s", err, input)
	}
	result := set(t, tr.Policy)
	narrowed, beyond := false, []string(nil)
	for _, l := range tr.Losses {
		// Requests name either a host or an address here, and nothing is resolved.
		narrowed = narrowed || l.Effect == translate.Narrows && !strings.Contains(l.Why, "names that lead there")
		if l.Effect == translate.Widens && strings.Contains(l.Why, "would become reachable") {
			_, rest, _ := strings.Cut(l.Why, " becomes ")
			beyond = append(beyond, strings.Trim(strings.Split(rest, " ")[0], `"`))
		}
	}
	for _, q := range requests {
		_, got := result.Match(q)
		want := admits(q)
		switch {
		case got && !want && !slices.ContainsFunc(beyond, func(p string) bool { return q.Path == p || strings.HasPrefix(q.Path, p+"/") }):
			t.Fatalf("wider: %+v\n%s\n%s", q, input, render(tr))
		case want && !got && !narrowed:
			t.Fatalf("narrower without a loss: %+v\n%s\n%s", q, input, render(tr))
		}
	}
}

var names = []string{"a.example", "b.a.example", "c.b.a.example", "d.example"}

// covered says whether a pattern covers a name, with one star for one label and two
// for any number.
func covered(pattern, name string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "**."); ok {
		return strings.HasSuffix(name, "."+suffix)
	}
	if suffix, ok := strings.CutPrefix(pattern, "*."); ok {
		first, ok := strings.CutSuffix(name, "."+suffix)
		return ok && !strings.Contains(first, ".")
	}
	return pattern == name
}

func TestDockerRulesMeanWhatTheyMeant(t *testing.T) {
	t.Parallel()
	requests := universe(names, []string{"10.0.0.1", "10.0.0.2", "10.0.0.9"}, []uint16{22, 80, 85, 443}, []string{"GET"}, []string{"/"})
	hosts := []string{"a.example", "b.a.example", "*.a.example", "**.a.example", "**.example", "10.0.0.0/30", "10.0.0.1", "10.0.0.0/28"}
	ports := []string{"", ":443", ":80-90", ":22"}
	rapid.Check(t, func(t *rapid.T) {
		type rule struct {
			host, port string
			deny       bool
		}
		rules := make([]rule, rapid.IntRange(1, 6).Draw(t, "rules"))
		var text []string
		for i := range rules {
			rules[i] = rule{rapid.SampledFrom(hosts).Draw(t, "host"), rapid.SampledFrom(ports).Draw(t, "port"), rapid.Bool().Draw(t, "deny")}
			decision := map[bool]string{true: "deny", false: "allow"}[rules[i].deny]
			text = append(text, fmt.Sprintf("{name: r%d, actions: ['connect:tcp'], resources: [%q], decision: %s}", i, rules[i].host+rules[i].port, decision))
		}
		matches := func(r rule, q egress.Request) bool {
			if !slices.Contains(map[string][]uint16{"": {22, 80, 85, 443}, ":443": {443}, ":80-90": {80, 85}, ":22": {22}}[r.port], q.Port) {
				return false
			}
			if q.Host != "" {
				return covered(r.host, q.Host)
			}
			p, err := netip.ParsePrefix(r.host)
			if err != nil {
				return r.host == q.Addr.String()
			}
			return p.Contains(q.Addr)
		}
		holds(t, translate.Docker, "rules: ["+strings.Join(text, ", ")+"]", requests, func(q egress.Request) bool {
			allowed := false
			for _, r := range rules {
				if matches(r, q) {
					if r.deny {
						return false
					}
					allowed = true
				}
			}
			return allowed
		})
	})
}

var (
	twoMethods = []string{"GET", "POST"}
	fourPaths  = []string{"/", "/v1", "/v1/x", "/v1/admin", "/v1/admin/y", "/w"}
)

// globbed says whether a path matches a pattern of literals with a star at the end.
func globbed(pattern, path string) bool {
	if pattern == "" || pattern == "/**" {
		return true
	}
	if prefix, ok := strings.CutSuffix(pattern, "/**"); ok {
		return strings.HasPrefix(path, prefix+"/")
	}
	if prefix, ok := strings.CutSuffix(pattern, "/*"); ok {
		rest, ok := strings.CutPrefix(path, prefix+"/")
		return ok && !strings.Contains(rest, "/")
	}
	return pattern == path
}

func TestOrderedRulesOfAzureMeanWhatTheyMeant(t *testing.T) {
	t.Parallel()
	requests := universe(names, nil, []uint16{80, 443}, twoMethods, fourPaths)
	rapid.Check(t, func(t *rapid.T) {
		type rule struct {
			host, path, scheme string
			methods            []string
			deny               bool
		}
		rules := make([]rule, rapid.IntRange(1, 5).Draw(t, "rules"))
		var text []string
		for i := range rules {
			r := rule{
				host:    rapid.SampledFrom([]string{"a.example", "b.a.example", "*.a.example"}).Draw(t, "host"),
				path:    rapid.SampledFrom([]string{"", "/v1/*", "/v1", "/v1/admin/*"}).Draw(t, "path"),
				scheme:  rapid.SampledFrom([]string{"", "any", "http", "https"}).Draw(t, "scheme"),
				methods: rapid.SampledFrom([][]string{nil, {"GET"}, {"GET", "POST"}}).Draw(t, "methods"),
				deny:    rapid.Bool().Draw(t, "deny"),
			}
			rules[i] = r
			match := fmt.Sprintf("host: %q", r.host)
			if r.path != "" {
				match += fmt.Sprintf(", path: %q", r.path)
			}
			if r.scheme != "" {
				match += ", scheme: " + r.scheme
			}
			if r.methods != nil {
				match += ", methods: [" + strings.Join(r.methods, ", ") + "]"
			}
			text = append(text, fmt.Sprintf("{match: {%s}, action: {type: %s}}", match, map[bool]string{true: "Deny", false: "Allow"}[r.deny]))
		}
		holds(t, translate.ACA, "{defaultAction: Deny, rules: ["+strings.Join(text, ", ")+"]}", requests, func(q egress.Request) bool {
			for _, r := range rules {
				host := covered(strings.Replace(r.host, "*.", "**.", 1), q.Host)
				port := r.scheme == "" || r.scheme == "any" || (r.scheme == "http") == (q.Port == 80)
				if host && port && globbed(r.path, q.Path) && (r.methods == nil || slices.Contains(r.methods, q.Method)) {
					return !r.deny
				}
			}
			return false
		})
	})
}

func TestOpenShellEndpointsMeanWhatTheyMeant(t *testing.T) {
	t.Parallel()
	requests := universe([]string{"a.example", "b.a.example"}, nil, []uint16{443}, twoMethods, fourPaths)
	type rule struct{ method, path string }
	some := []rule{{"GET", "/v1/**"}, {"*", "/**"}, {"POST", "/v1"}, {"GET", "/v1/admin/**"}, {"*", "/v1/admin/**"}, {"GET", "/v1/*"}}
	rapid.Check(t, func(t *rapid.T) {
		type endpoint struct {
			host, selector, access string
			allow, deny            []rule
		}
		all := make([]endpoint, rapid.IntRange(1, 4).Draw(t, "endpoints"))
		var text []string
		for i := range all {
			e := endpoint{
				host:     rapid.SampledFrom([]string{"a.example", "b.a.example", "**.example"}).Draw(t, "host"),
				selector: rapid.SampledFrom([]string{"", "/v1/**", "/v1/admin/**"}).Draw(t, "selector"),
				access:   rapid.SampledFrom([]string{"", "read-only", "full"}).Draw(t, "access"),
				deny:     rapid.SliceOfN(rapid.SampledFrom(some), 0, 1).Draw(t, "deny"),
			}
			if e.access == "" {
				e.allow = rapid.SliceOfN(rapid.SampledFrom(some), 1, 2).Draw(t, "allow")
			}
			all[i] = e
			s := fmt.Sprintf("host: %q, port: 443, protocol: rest, enforcement: enforce", e.host)
			if e.selector != "" {
				s += fmt.Sprintf(", path: %q", e.selector)
			}
			if e.access != "" {
				s += ", access: " + e.access
			}
			list := func(name, open, end string, rules []rule) {
				var texts []string
				for _, r := range rules {
					texts = append(texts, fmt.Sprintf("%smethod: %q, path: %q%s", open, r.method, r.path, end))
				}
				if texts != nil {
					s += ", " + name + ": [" + strings.Join(texts, ", ") + "]"
				}
			}
			list("rules", "{allow: {", "}}", e.allow)
			list("deny_rules", "{", "}", e.deny)
			text = append(text, "{"+s+"}")
		}
		matches := func(rules []rule, q egress.Request) bool {
			return slices.ContainsFunc(rules, func(r rule) bool { return (r.method == "*" || r.method == q.Method) && globbed(r.path, q.Path) })
		}
		input := "version: 1\nnetwork_policies: {p: {endpoints: [" + strings.Join(text, ", ") + "], binaries: [{path: /**}]}}"
		holds(t, translate.OpenShell, input, requests, func(q egress.Request) bool {
			best := -1
			for _, e := range all {
				prefix := strings.TrimSuffix(e.selector, "/**")
				if covered(e.host, q.Host) && (q.Path == prefix || strings.HasPrefix(q.Path, prefix+"/")) {
					best = max(best, len(prefix))
				}
			}
			allowed := false
			for _, e := range all {
				if !covered(e.host, q.Host) || len(strings.TrimSuffix(e.selector, "/**")) != best {
					continue
				}
				if matches(e.deny, q) {
					return false
				}
				allowed = allowed || e.access == "full" || e.access == "read-only" && q.Method == "GET" || matches(e.allow, q)
			}
			return allowed
		})
	})
}
