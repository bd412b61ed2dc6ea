package acasegress_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasegress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// sent is what is compiled of two hosts, one by methods.
func sent(tb testing.TB) acasegress.Compiled {
	tb.Helper()
	e := hosts("a.example", "*.b.example")
	e.Rules = map[string]sandbox.EgressRule{
		"c": rule("c.example", "443", "GET", "*"),
		"d": rule("d.example", "443", "GET HEAD", "*"),
	}
	c, findings := acasegress.Compile(e, wire.V0201)
	if d := sandbox.Decide(findings); d.Verdict != sandbox.Allow {
		tb.Fatal(d.Err())
	}
	return c
}

// A service that does each of these to what it was sent is found out, and one that
// only answers in other words is not.
func TestWhatTheServiceShowsIsComparedWithWhatItWasSent(t *testing.T) {
	t.Parallel()
	allow := wire.EgressAction{Type: wire.EgressAllow}
	for name, c := range map[string]struct {
		does  func(*wire.EgressPolicy)
		want  acasegress.Relation
		code  sandbox.Code
		opens string
	}{
		"nothing":             {func(*wire.EgressPolicy) {}, acasegress.Equal, "", ""},
		"swaps two rules":     {func(p *wire.EgressPolicy) { slices.Reverse(p.Rules); slices.Reverse(p.HostRules) }, acasegress.Equal, "", ""},
		"names a rule":        {func(p *wire.EgressPolicy) { p.Rules[0].Name = "rule-1" }, acasegress.Equal, "", ""},
		"changes letter case": {func(p *wire.EgressPolicy) { p.HostRules[1].Pattern = "A.Example" }, acasegress.Equal, "", ""},
		"says it twice":       {func(p *wire.EgressPolicy) { q := *p; p.HTTP = &q }, acasegress.Equal, "", ""},
		"says it is enforced": {func(p *wire.EgressPolicy) { p.EnforcementMode = "Enforced" }, acasegress.Equal, "", ""},
		"adds what is covered": {func(p *wire.EgressPolicy) {
			p.HostRules = append(p.HostRules, wire.HostRule{Pattern: "x.b.example", Action: "Allow"})
		}, acasegress.Equal, "", ""},

		"drops a rule":   {func(p *wire.EgressPolicy) { p.HostRules = p.HostRules[:1] }, acasegress.Narrower, sandbox.CodeServiceEgressDiffers, ""},
		"drops a method": {func(p *wire.EgressPolicy) { p.Rules[1].Match.Methods = []string{"GET"} }, acasegress.Narrower, sandbox.CodeServiceEgressDiffers, ""},
		"denies a host first": {func(p *wire.EgressPolicy) {
			p.Rules = slices.Insert(p.Rules, 0, wire.EgressRule{Match: wire.EgressMatch{Host: "c.example"}, Action: wire.EgressAction{Type: wire.EgressDeny}})
		}, acasegress.Narrower, sandbox.CodeServiceEgressDiffers, ""},

		"adds a host": {func(p *wire.EgressPolicy) {
			p.HostRules = append(p.HostRules, wire.HostRule{Pattern: "evil.example", Action: "Allow"})
		}, acasegress.Wider, sandbox.CodeServiceEgressDiffers, "evil.example:80"},
		"widens a host":     {func(p *wire.EgressPolicy) { p.HostRules[1].Pattern = "*.example" }, acasegress.Wider, sandbox.CodeServiceEgressDiffers, "evil.example:80"},
		"loses the methods": {func(p *wire.EgressPolicy) { p.Rules[0].Match.Methods = nil }, acasegress.Wider, sandbox.CodeServiceEgressDiffers, "c.example:80 (DELETE /)"},
		"allows by default": {func(p *wire.EgressPolicy) { p.DefaultAction = wire.EgressAllow }, acasegress.Wider, sandbox.CodeServiceEgressDiffers, "any.host.invalid:443"},
		"only writes down":  {func(p *wire.EgressPolicy) { p.EnforcementMode = wire.EnforceAudit }, acasegress.Wider, sandbox.CodeServiceEgressDiffers, "any.host.invalid:443"},
		"inspects partly":   {func(p *wire.EgressPolicy) { p.TrafficInspection = wire.InspectPartial }, acasegress.Wider, sandbox.CodeServiceEgressDiffers, "any.host.invalid:443"},
		"adds a UDP rule":   {func(p *wire.EgressPolicy) { p.TransportRules = []byte(`{"rules":[{"protocol":"Udp"}]}`) }, acasegress.Wider, sandbox.CodeServiceEgressDiffers, "any.host.invalid:443"},
		"adds a new key":    {func(p *wire.EgressPolicy) { p.Extra = wire.Extra{"bypass": []byte("true")} }, acasegress.Wider, sandbox.CodeServiceEgressDiffers, "any.host.invalid:443"},
		"rewrites": {func(p *wire.EgressPolicy) {
			p.Rules[0].Action = wire.EgressAction{Type: wire.EgressRewrite, Host: "evil.example"}
		}, acasegress.Wider, sandbox.CodeServiceEgressDiffers, "evil.example:443"},

		"changes a header":   {func(p *wire.EgressPolicy) { p.Rules[0].Action.Type = wire.EgressTransform }, acasegress.Unclear, sandbox.CodeServiceEgressUnclear, ""},
		"allows a path less": {func(p *wire.EgressPolicy) { p.Rules[0].Match.Path = "/v1/*" }, acasegress.Unclear, sandbox.CodeServiceEgressUnclear, ""},
		"denies what it allows": {func(p *wire.EgressPolicy) {
			p.HostRules = append(p.HostRules, wire.HostRule{Pattern: "a.example", Action: wire.EgressDeny})
			p.Rules = append(p.Rules, wire.EgressRule{Match: wire.EgressMatch{Host: "a.example", Methods: []string{"GET"}}, Action: allow})
		}, acasegress.Unclear, sandbox.CodeServiceEgressUnclear, ""},
	} {
		c0 := sent(t)
		c.does(&c0.Policy)
		got := acasegress.Compare(c0.Means, acasegress.Read(&c0.Policy))
		err := got.Err()
		if got.Relation != c.want || (err == nil) != (c.want == acasegress.Equal) || c.code != "" && !errors.Is(err, c.code) {
			t.Errorf("a service that %s: %s, %v", name, got.Relation, err)
			continue
		}
		if got.Opens.String() != c.opens {
			t.Errorf("a service that %s opens %q, want %q", name, got.Opens, c.opens)
		}
		if c.want == acasegress.Narrower && got.Closes.String() == "" {
			t.Errorf("a service that %s: no witness", name)
		}
		if c.want == acasegress.Wider && sandbox.RefusalOf(err).Witness != c.opens {
			t.Errorf("a service that %s: the refusal shows %q", name, sandbox.RefusalOf(err).Witness)
		}
	}
}

func TestNoPolicyIsWiderThanAnyRules(t *testing.T) {
	t.Parallel()
	for name, got := range map[string]acasegress.Reading{"no policy": acasegress.Read(nil), "nothing read": {}} {
		c := acasegress.Compare(sent(t).Means, got)
		if c.Relation != acasegress.Wider || c.Err() == nil {
			t.Errorf("%s: %s", name, c.Relation)
		}
	}
	empty, _ := acasegress.Compile(sandbox.Egress{}, wire.V0201)
	if c := acasegress.Compare(empty.Means, acasegress.Read(&empty.Policy)); c.Err() != nil {
		t.Error(c.Err())
	}
	if c := (acasegress.Comparison{}); c.Err() == nil || c.Relation.String() != "unclear" {
		t.Error("the zero comparison is equal")
	}
}

// Whoever rules cover, the witness against a policy that is open is outside.
func TestTheWitnessAgainstAnOpenPolicyIsNotCovered(t *testing.T) {
	t.Parallel()
	c, _ := acasegress.Compile(hosts("*.invalid"), wire.V0201)
	got := acasegress.Compare(c.Means, acasegress.Read(nil))
	if _, covered := c.Means.Match(got.Opens.Request()); covered || got.Opens.String() == "" {
		t.Errorf("%q", got.Opens)
	}
}
