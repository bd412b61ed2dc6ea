package learn_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/learn"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// The small world in which rules and requests meet.
var (
	hosts   = []string{"a.example.com", "b.example.com", "example.com", "c.example.org", "192.0.2.1", "10.0.0.7"}
	shapes  = []string{"a.example.com", "b.example.com", "*.example.com", "example.com", "192.0.2.0/24", "10.0.0.7"}
	ports   = []uint16{443, 80, 8443}
	methods = []string{"GET", "POST", "PUT"}
	paths   = []string{"/", "/v1", "/v1/items", "/v1/items/7", "/v2/a%20b", "/admin/"}
)

func someOf[T any](t *rapid.T, from []T, name string) []T {
	n := rapid.IntRange(1, len(from)).Draw(t, name+" count")
	return rapid.Permutation(from).Draw(t, name)[:n]
}

func texts(ports []uint16) []string {
	var all []string
	for _, p := range ports {
		all = append(all, strconv.Itoa(int(p)))
	}
	return all
}

func drawRules(t *rapid.T) map[string]sandbox.EgressRule {
	rules := map[string]sandbox.EgressRule{}
	for i := range rapid.IntRange(0, 5).Draw(t, "rules") {
		r := sandbox.EgressRule{
			Host: rapid.SampledFrom(shapes).Draw(t, "host"), Ports: texts(someOf(t, ports, "ports")), Methods: []string{"*"}, Paths: []string{"*"},
		}
		if rapid.Bool().Draw(t, "narrow") {
			r.Methods = someOf(t, methods, "methods")
		}
		if rapid.Bool().Draw(t, "pathed") {
			r.Paths = someOf(t, []string{"/v1", "/v1/items", "/v2"}, "paths")
		}
		rules["r"+strconv.Itoa(i)] = r
	}
	return rules
}

func setOf(t interface{ Fatalf(string, ...any) }, rules []sandbox.EgressRule) *egress.Set {
	var parsed []egress.Rule
	for _, r := range rules {
		rule, findings := egress.ParseRule("", r, nil)
		if len(findings) > 0 {
			t.Fatalf("%+v: %v", r, findings)
		}
		parsed = append(parsed, rule)
	}
	return egress.NewSet(parsed)
}

// asked is a request and how the proxy's rules answer it: as egressproxy does.
type asked struct {
	egress.Request
	through bool // let through
}

// answered is what a proxy with those rules does with a request: a connection is let
// through, opened, in which case nothing is told of it, or refused.
func answered(set *egress.Set, r egress.Request) (a asked, told bool) {
	_, ok := set.Match(r)
	if !ok && r.Method == "" && set.Opens(r) {
		return asked{}, false
	}
	return asked{r, ok}, true
}

func drawRequest(t *rapid.T) egress.Request {
	host, addr, err := egress.ParseRequestHost(rapid.SampledFrom(hosts).Draw(t, "asked"))
	if err != nil {
		t.Fatal(err)
	}
	r := egress.Request{Host: host, Addr: addr, Port: rapid.SampledFrom(ports).Draw(t, "port")}
	if rapid.Bool().Draw(t, "seen inside") {
		r.Method, r.Path = rapid.SampledFrom(methods).Draw(t, "method"), rapid.SampledFrom(paths).Draw(t, "path")
	}
	return r
}

func entry(a asked) eventlog.Entry {
	e := eventlog.Entry{Event: egress.Event{
		Time: noon, Allowed: a.through, Port: a.Port, Host: a.Host, Method: a.Method, Path: a.Path, Count: 1, Layer: egress.LayerOpened,
	}}
	if a.Addr.IsValid() {
		e.Host = a.Addr.String()
	}
	if a.Method == "" {
		e.Layer = egress.LayerConnection
	}
	if !a.through {
		e.Code = sandbox.CodeEgressDenied
	}
	return e
}

func proposed(p learn.Proposal) []sandbox.EgressRule {
	var rules []sandbox.EgressRule
	for _, g := range p.Groups {
		for _, r := range g.Rules {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}

// admits reports whether a proxy with the rules would not refuse what was asked. A
// connection that was let through as a whole stays so.
func admits(set *egress.Set, a asked) bool {
	if _, ok := set.Match(a.Request); ok {
		return true
	}
	return a.Method == "" && !a.through && set.Opens(a.Request)
}

func refusedOnes(set *egress.Set, all []asked) (n int) {
	for _, a := range all {
		if !admits(set, a) {
			n++
		}
	}
	return n
}

// For any rules and any requests: what is learnt admits each request that was seen,
// no word of it can go without refusing one of them, and what is new in it admits
// nothing but what was seen and what lies below.
func TestWhatIsLearntAdmitsWhatWasSeenAndNothingItCouldDoWithout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t)
		in := setOf(t, slices.Collect(maps.Values(rules)))
		var seen []asked
		var tally learn.Tally
		for range rapid.IntRange(0, 25).Draw(t, "requests") {
			if a, told := answered(in, drawRequest(t)); told {
				seen = append(seen, a)
				tally.Add(entry(a))
			}
		}
		var at *learn.Place
		if rapid.Bool().Draw(t, "placed") {
			at = placed(t, rules)
		}
		p, err := learn.Propose(&tally, at)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.NotOffered) > 0 {
			t.Fatalf("not offered: %+v", p.NotOffered)
		}
		got := proposed(p)
		set := setOf(t, got)
		if n := refusedOnes(set, seen); n > 0 {
			t.Fatalf("%d of %d requests are refused by\n%s", n, len(seen), p.HCL)
		}
		for i := range got {
			if less := setOf(t, slices.Delete(slices.Clone(got), i, i+1)); refusedOnes(less, seen) == 0 {
				t.Fatalf("nothing needs %+v of\n%s", got[i], p.HCL)
			}
		}
		for _, g := range p.Groups {
			for _, r := range g.Rules {
				if r.New {
					everyWordIsNeeded(t, got, r.Rule, seen)
					nothingElse(t, r.Rule, seen)
				}
			}
		}
		reads(t, p)
	})
}

// everyWordIsNeeded takes each element out of each list of a rule.
func everyWordIsNeeded(t *rapid.T, all []sandbox.EgressRule, r sandbox.EgressRule, seen []asked) {
	i := slices.IndexFunc(all, func(o sandbox.EgressRule) bool { return fmt.Sprint(o) == fmt.Sprint(r) })
	for _, list := range []func(*sandbox.EgressRule) *[]string{
		func(r *sandbox.EgressRule) *[]string { return &r.Ports },
		func(r *sandbox.EgressRule) *[]string { return &r.Methods },
		func(r *sandbox.EgressRule) *[]string { return &r.Paths },
	} {
		for n := range *list(&r) {
			less, rules := r, slices.Clone(all)
			if words := slices.Delete(slices.Clone(*list(&r)), n, n+1); len(words) > 0 {
				*list(&less) = words
				rules[i] = less
			} else {
				rules = slices.Delete(rules, i, i+1)
			}
			if refusedOnes(setOf(t, rules), seen) == 0 {
				t.Fatalf("of %+v nothing needs %q", r, (*list(&r))[n])
			}
		}
	}
}

// nothingElse holds a rule against all requests of the small world.
func nothingElse(t *rapid.T, r sandbox.EgressRule, seen []asked) {
	set := setOf(t, []sandbox.EgressRule{r})
	narrow := []egress.Rule{}
	for _, a := range seen {
		rule, findings := egress.ParseRule("", egress.AdditionFor(a.Request).Rule, nil)
		if len(findings) > 0 {
			t.Fatal(findings)
		}
		narrow = append(narrow, rule)
	}
	if w, within := set.Within(egress.NewSet(narrow)); !within {
		t.Fatalf("%+v opens %s, which nobody asked for", r, w)
	}
}

// reads parses the HCL and holds it against the rules.
func reads(t interface{ Fatalf(string, ...any) }, p learn.Proposal) {
	f, diags := hclsyntax.ParseConfig([]byte(p.HCL), "learnt.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, p.HCL)
	}
	if formatted := string(hclwrite.Format([]byte(p.HCL))); formatted != p.HCL {
		t.Fatalf("terraform fmt would change it:\n%s\n%s", p.HCL, formatted)
	}
	attributes, diags := f.Body.JustAttributes()
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, p.HCL)
	}
	hosts, rules := 0, 0
	for name, attribute := range attributes {
		v, diags := attribute.Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatalf("%v\n%s", diags, p.HCL)
		}
		switch name {
		case "egress_hosts":
			hosts = v.LengthInt()
		case "egress_rules":
			rules = v.LengthInt()
		case "egress_mode":
			if v.AsString() != p.Mode.String() {
				t.Fatalf("mode %s, not %s", v.AsString(), p.Mode)
			}
		default:
			t.Fatalf("an attribute %s", name)
		}
	}
	if hosts+rules != len(proposed(p)) {
		t.Fatalf("%d hosts and %d rules of %d\n%s", hosts, rules, len(proposed(p)), p.HCL)
	}
}

// placed is a workload that has the rules, under a policy that permits everything.
func placed(t interface{ Fatalf(string, ...any) }, rules map[string]sandbox.EgressRule) *learn.Place {
	e := sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: rules}
	if len(rules) == 0 {
		e = sandbox.Egress{}
	}
	at, err := learn.NewPlace(manifest.Manifest{
		Policy: sandbox.Policy{
			Name: "agents", MinimumIsolation: sandbox.IsolationOSProcess, Egress: sandbox.Egress{Mode: sandbox.EgressUnrestricted},
		},
		Workloads: map[string]sandbox.Spec{"report": {Kind: "codeact", Backend: "memory", Egress: e}},
	}, "report", nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return at
}
