package acasguests

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func rule(host, path, action string, methods ...string) wire.EgressRule {
	return wire.EgressRule{
		Name: host + path, Match: wire.EgressMatch{Host: host, Path: path, Methods: methods}, Action: wire.EgressAction{Type: action},
	}
}

func TestAPolicyIsHeldInTheServicesOrder(t *testing.T) {
	t.Parallel()
	ask := func(host, method, path string) egress.Request {
		return egress.Request{Host: host, Port: 443, Method: method, Path: path}
	}
	hosts := &wire.EgressPolicy{DefaultAction: wire.EgressDeny, HostRules: []wire.HostRule{
		{Pattern: "bad.a.test", Action: wire.EgressDeny}, {Pattern: "*.a.test", Action: wire.EgressAllow}, {Pattern: "b.test", Action: wire.EgressAllow},
	}}
	rules := &wire.EgressPolicy{
		Rules: []wire.EgressRule{
			rule("a.test", "/private/*", wire.EgressDeny), rule("a.test", "", wire.EgressAllow, "GET", "HEAD"),
			rule("t.test", "", wire.EgressTransform), rule("c.test", "", wire.EgressAllow, "*"),
		},
		HostRules:     []wire.HostRule{{Pattern: "*", Action: wire.EgressDeny}},
		DefaultAction: wire.EgressAllow,
	}
	for name, c := range map[string]struct {
		policy *wire.EgressPolicy
		ask    egress.Request
		want   bool
	}{
		"none is everything":               {nil, ask("x.test", "GET", "/"), true},
		"an empty one too":                 {&wire.EgressPolicy{}, ask("x.test", "", ""), true},
		"a host that is listed":            {hosts, ask("b.test", "", ""), true},
		"its neighbour":                    {hosts, ask("c.test", "", ""), false},
		"below a star":                     {hosts, ask("x.y.a.test", "GET", "/"), true},
		"not the star's own":               {hosts, ask("a.test", "GET", "/"), false},
		"the first match wins":             {hosts, ask("bad.a.test", "GET", "/"), false},
		"case does not matter":             {hosts, ask("B.Test", "GET", "/"), true},
		"a method that is listed":          {rules, ask("a.test", "GET", "/x"), true},
		"another method":                   {rules, ask("a.test", "POST", "/x"), false},
		"a path that is denied before":     {rules, ask("a.test", "GET", "/private/x"), false},
		"what cannot be seen is not taken": {rules, ask("a.test", "", ""), false},
		"any method":                       {rules, ask("c.test", "", ""), true},
		"what would be changed":            {rules, ask("t.test", "GET", "/"), false},
		"rules come before hosts":          {rules, ask("d.test", "GET", "/"), false},
	} {
		var j judge
		j.set(c.policy)
		if got := j.Admits(c.ask); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestOnlyHostsWithNarrowRulesAreOpened(t *testing.T) {
	t.Parallel()
	var j judge
	j.set(&wire.EgressPolicy{Rules: []wire.EgressRule{
		rule("a.test", "", wire.EgressAllow, "GET"), rule("*.b.test", "/x", wire.EgressDeny), rule("c.test", "", wire.EgressAllow),
		rule("*", "/x", wire.EgressDeny), rule("not a host", "/x", wire.EgressDeny),
	}})
	var hosts []string
	for _, r := range j.opened() {
		hosts = append(hosts, r.Host)
	}
	if len(hosts) != 2 || !strings.Contains(strings.Join(hosts, " "), "a.test") || !strings.Contains(strings.Join(hosts, " "), "*.b.test") {
		t.Errorf("%q", hosts)
	}
}

// FuzzPatterns compares with what a regular expression says.
func FuzzPatterns(f *testing.F) {
	f.Add("*.example.com", "a.example.com")
	f.Add("*", "")
	f.Add("a*b*c", "axbxbxc")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 30 || len(text) > 60 || strings.Count(pattern, "*") > 4 {
			return
		}
		lower, of := strings.ToLower(text), strings.ToLower(pattern)
		re, err := regexp.Compile(`(?s)\A` + strings.ReplaceAll(regexp.QuoteMeta(of), `\*`, `.*`) + `\z`)
		if err != nil {
			return // it is not UTF-8
		}
		if got := matches(pattern, text); got != re.MatchString(lower) {
			t.Errorf("%q and %q: %v", pattern, text, got)
		}
	})
}
