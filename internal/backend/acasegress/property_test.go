package acasegress_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasegress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

var (
	someHosts   = []string{"a.example", "b.a.example", "*.a.example", "*.example", "c.test", "*.test", "münchen.test"}
	someMethods = []string{"GET", "POST", "PUT", "TRACE"}
	someNames   = []string{"a.example", "b.a.example", "x.b.a.example", "c.test", "example", "other.invalid"}
)

func drawEgress(t *rapid.T) sandbox.Egress {
	e := sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{}}
	e.Hosts = rapid.SliceOfN(rapid.SampledFrom(someHosts), 0, 4).Draw(t, "hosts")
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"p", "q", "r"}), 0, 3).Draw(t, "rules") {
		methods := rapid.SliceOfNDistinct(rapid.SampledFrom(someMethods), 0, 3, rapid.ID).Draw(t, "methods")
		if len(methods) == 0 {
			methods = []string{"*"}
		}
		e.Rules[name] = sandbox.EgressRule{
			Host:    rapid.SampledFrom(someHosts).Draw(t, "host"),
			Ports:   strings.Fields(rapid.SampledFrom([]string{"443", "80 443"}).Draw(t, "ports")),
			Methods: methods, Paths: []string{"*"},
		}
	}
	return e
}

func TestWhatIsCompiledIsReadBackAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := drawEgress(t)
		v := rapid.SampledFrom(wire.Data.Versions()).Draw(t, "version")
		c, findings := acasegress.Compile(e, v)
		if d := sandbox.Decide(findings); d.Verdict != sandbox.Allow {
			t.Fatalf("%v", d.Err())
		}
		text, err := wire.Encode(c.Policy)
		if err != nil {
			t.Fatal(err)
		}
		var back wire.EgressPolicy
		if err := wire.Decode(text, &back); err != nil {
			t.Fatal(err)
		}
		shuffle := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shuffle.Shuffle(len(back.Rules), func(i, j int) { back.Rules[i], back.Rules[j] = back.Rules[j], back.Rules[i] })
		shuffle.Shuffle(len(back.HostRules), func(i, j int) { back.HostRules[i], back.HostRules[j] = back.HostRules[j], back.HostRules[i] })
		got := acasegress.Read(&back)
		if err := acasegress.Compare(c.Means, got).Err(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if set, ok := got.Set(); !ok || !set.Equal(c.Means) {
			t.Fatalf("%s: read as another set", text)
		}
		slices.Reverse(e.Hosts)
		again, _ := acasegress.Compile(e, v)
		if other, _ := wire.Encode(again.Policy); string(other) != string(text) {
			t.Fatalf("another order of hosts gives another policy:\n%s\n%s", text, other)
		}
		onlyPort80(t, e, c, v)
	})
}

// onlyPort80 holds what was compiled against what was declared, by the rules' own
// words.
func onlyPort80(t *rapid.T, e sandbox.Egress, c acasegress.Compiled, v wire.Version) {
	var rules []egress.Rule
	for _, host := range e.Hosts {
		rule, _ := egress.ParseShort(host, nil)
		rules = append(rules, rule)
	}
	for name, text := range e.Rules {
		rule, _ := egress.ParseRule(name, text, nil)
		rules = append(rules, rule)
	}
	declared := egress.NewSet(rules)
	for _, name := range someNames {
		for _, port := range []uint16{80, 443, 8080} {
			for _, method := range append([]string{""}, someMethods...) {
				_, wanted := declared.Match(to(name, port, method))
				_, means := c.Means.Match(to(name, port, method))
				if wanted == means {
					continue
				}
				_, https := declared.Match(to(name, 443, method))
				if port != 80 || v != wire.V0201 || !means || !https {
					t.Fatalf("%s:%d %s: declared %t, compiled %t", name, port, method, wanted, means)
				}
			}
		}
	}
}

// service is one way in which the service might read a policy: what is documented
// leaves room for all of them.
type service struct {
	hostRulesFirst, denialsFirst, oneLabel bool
}

func (s service) covers(pattern, host string) bool {
	suffix, star := strings.CutPrefix(pattern, "*.")
	switch {
	case pattern == "*" || pattern == "":
		return true
	case !star:
		return pattern == host
	}
	label, below := strings.CutSuffix(host, "."+suffix)
	return below && (!s.oneLabel || !strings.Contains(label, "."))
}

func (s service) admits(p *wire.EgressPolicy, q egress.Request) bool {
	rules := func() (answer string) {
		for _, r := range p.Rules {
			scheme := map[string]uint16{"http": 80, "https": 443}[r.Match.Scheme]
			if !s.covers(r.Match.Host, q.Host) || scheme != 0 && scheme != q.Port || len(r.Match.Methods) > 0 && !slices.Contains(r.Match.Methods, q.Method) {
				continue
			}
			return r.Action.Type
		}
		return ""
	}
	hostRules := func() (answer string) {
		for _, r := range p.HostRules {
			if s.covers(r.Pattern, q.Host) && (answer == "" || s.denialsFirst && r.Action == "Deny") {
				answer = r.Action
			}
		}
		return answer
	}
	first, second := rules(), hostRules()
	if s.hostRulesFirst {
		first, second = second, first
	}
	for _, answer := range []string{first, second, p.DefaultAction} {
		if answer != "" {
			return answer != "Deny"
		}
	}
	return true
}

func drawPolicy(t *rapid.T) *wire.EgressPolicy {
	p := &wire.EgressPolicy{DefaultAction: wire.EgressDeny, TrafficInspection: wire.InspectFull}
	pattern := rapid.SampledFrom([]string{"a.example", "b.a.example", "*.a.example", "*.example", "*", "c.test"})
	for range rapid.IntRange(0, 4).Draw(t, "host rules") {
		p.HostRules = append(p.HostRules, wire.HostRule{Pattern: pattern.Draw(t, "pattern"), Action: rapid.SampledFrom([]string{"Allow", "Deny"}).Draw(t, "action")})
	}
	for range rapid.IntRange(0, 4).Draw(t, "rules") {
		p.Rules = append(p.Rules, wire.EgressRule{
			Match: wire.EgressMatch{
				Host: pattern.Draw(t, "host"), Scheme: rapid.SampledFrom([]string{"", "", "http", "https"}).Draw(t, "scheme"),
				Methods: rapid.SampledFrom([][]string{nil, nil, {"GET"}, {"GET", "POST"}}).Draw(t, "methods"),
			},
			Action: wire.EgressAction{Type: rapid.SampledFrom([]string{"Allow", "Deny", "Transform"}).Draw(t, "type")},
		})
	}
	return p
}

// In whatever way the service reads a policy, it lets out no more than the most that
// is read here, and no less than the least, but for names that a star of one label
// does not cover.
func TestNoServiceLetsOutMoreThanTheMostThatIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		got := acasegress.Read(p)
		for i := range 8 {
			s := service{i&1 > 0, i&2 > 0, i&4 > 0}
			for _, name := range someNames {
				for _, port := range []uint16{80, 443} {
					for _, method := range []string{"GET", "POST", "DELETE"} {
						q := to(name, port, method)
						admits := s.admits(p, q)
						if admits && !got.May(q) || got.Does(q) && !admits && !s.oneLabel {
							text, _ := wire.Encode(p)
							t.Fatalf("%s\n%+v on %s:%d %s: %t; may %t, does %t", text, s, name, port, method, admits, got.May(q), got.Does(q))
						}
						if got.Clear() && !got.May(q) && admits {
							t.Fatal("clear and wrong")
						}
					}
				}
			}
		}
	})
}
