package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// hostRule is the i-th of many rules: names, wildcards, further ports, methods
// and paths.
func hostRule(i int) sandbox.EgressRule {
	r := sandbox.EgressRule{
		Host:  fmt.Sprintf("h%d.d%d.example.com", i, i%97),
		Ports: []string{"443"}, Methods: []string{"*"}, Paths: []string{"*"},
	}
	switch i % 8 {
	case 1:
		r.Host = "*." + r.Host
	case 2:
		r.Methods, r.Paths = []string{"GET", "HEAD"}, []string{"/v1", "/v2/items"}
	case 3:
		r.Ports = []string{"443", "8000-8099"}
	}
	return r
}

// hostRequests are spread over n rules; half of them match.
func hostRequests(n int) []egress.Request {
	var out []egress.Request
	for k := range 16 {
		i := (n * k / 16) &^ 7
		name := func(i int) string { return fmt.Sprintf("h%d.d%d.example.com", i, i%97) }
		get := func(host string, port uint16, path string) egress.Request {
			return egress.Request{Host: host, Port: port, Method: "GET", Path: path}
		}
		out = append(out,
			get(name(i), 443, "/x"),
			get("a.b."+name(i+1), 443, "/x"),
			get(name(i+2), 443, "/v2/items/7"),
			get(name(i+3), 8050, "/x"),
			get(name(i+1), 443, "/x"), // the apex of a wildcard
			get(name(i+2), 443, "/v10"),
			get(name(i+3), 22, "/x"),
			get("a.very.long.name.that.nobody.allowed.example.org", 443, "/x"),
		)
	}
	return out
}

// scanRules looks at one rule after the other until one admits the request: the
// loop that people write first.
func scanRules(rules []plainRule, r egress.Request) bool {
	for i := range rules {
		if rule := &rules[i]; covers(rule.Host, r.Host) && admits(rule, r) {
			return true
		}
	}
	return false
}

func covers(pattern, host string) bool {
	if suffix, wild := strings.CutPrefix(pattern, "*"); wild {
		return strings.HasSuffix(host, suffix)
	}
	return pattern == host
}

func admits(rule *plainRule, r egress.Request) bool {
	port := slices.ContainsFunc(rule.Ports, func(p plainPort) bool { return p.First <= r.Port && r.Port <= p.Last })
	return port && (rule.Methods == nil || slices.Contains(rule.Methods, r.Method)) &&
		(rule.Paths == nil || slices.ContainsFunc(rule.Paths, func(prefix string) bool {
			rest, ok := strings.CutPrefix(r.Path, prefix)
			return ok && (rest == "" || rest[0] == '/')
		}))
}

type opaRequest struct {
	Host   string   `json:"host"`
	Keys   []string `json:"keys"`
	Port   uint16   `json:"port"`
	Method string   `json:"method"`
	Path   string   `json:"path"`
}

// hosts times one request against n rules.
func hosts(ctx context.Context, n int) (section, error) {
	rules, plain, byHost := make([]egress.Rule, n), make([]plainRule, n), map[string]plainRule{}
	for i := range n {
		r, findings := egress.ParseRule(index(i), hostRule(i), nil)
		if len(findings) > 0 {
			return section{}, fmt.Errorf("rule %d: %v", i, findings)
		}
		rules[i], plain[i] = r, toPlainRule(r)
		byHost[plain[i].Host] = plain[i]
	}
	set, requests := egress.NewSet(rules), hostRequests(n)
	var inputs []any
	items := make([]int, len(requests))
	for i, r := range requests {
		items[i] = i
		inputs = append(inputs, opaRequest{Host: r.Host, Keys: keysOf(r.Host), Port: r.Port, Method: r.Method, Path: r.Path})
	}
	data := map[string]any{"by_host": byHost, "list": plain}
	byKey, err := prepareOPA(ctx, "data.match.by_key", matchRego, data, inputs)
	if err != nil {
		return section{}, err
	}
	byScan, err := prepareOPA(ctx, "data.match.by_scan", matchRego, data, inputs)
	if err != nil {
		return section{}, err
	}
	var failed error
	ask := func(q *opaQuery) func(int) {
		return func(i int) {
			_, err := q.eval(ctx, i)
			failed = errors.Join(failed, err)
		}
	}
	for i, r := range requests {
		_, want := set.Match(r)
		key, err1 := byKey.eval(ctx, i)
		scan, err2 := byScan.eval(ctx, i)
		if err := errors.Join(err1, err2); err != nil {
			return section{}, err
		}
		if want != (i%8 < 4) || scanRules(plain, r) != want || (key == true) != want || (scan == true) != want {
			return section{}, fmt.Errorf("%d rules, request %+v: %v here, by scan %v, OPA %v and %v", n, r, want, scanRules(plain, r), key, scan)
		}
	}
	return section{fmt.Sprintf("match one request in %d rules", n), measure(items,
		contender{oursName, func(i int) { set.Match(requests[i]) }},
		contender{"linear scan in Go", func(i int) { scanRules(plain, requests[i]) }},
		contender{"OPA, rules keyed by host", ask(byKey)},
		contender{"OPA, rules in a list", ask(byScan)},
	)}, failed
}
