package policy_test

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func drawRequest(t *rapid.T) egress.Request {
	r := egress.Request{
		Port:   pick(t, "port", uint16(443), 80, 22),
		Method: pick(t, "method", "", "GET", "POST"),
		Path:   pick(t, "path", "", "/v1/x", "/v2"),
	}
	if rapid.Bool().Draw(t, "by address") {
		r.Addr = netip.MustParseAddr(pick(t, "address", "10.1.2.3", "10.2.0.1", "192.0.2.1"))
		return r
	}
	r.Host = pick(t, "host", "a.example", "b.example", "x.a.example", "other.test")
	return r
}

// What the decision finds to lie within a policy reaches nothing that it closes.
func TestEgressWithinAReachOfesOnlyWhatItAdmits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bound, ask := drawPolicy(t), drawSpec(t)
		if rapid.Bool().Draw(t, "asks for all of it") {
			ask.Egress = bound.Egress
		}
		p, problems := policy.CompilePolicy(policy.Layer{Policy: bound})
		s, more := policy.CompileSpec(ask, sandbox.Known{})
		b, still := policy.CompileDeclarations(drawDeclarations(t))
		if len(problems)+len(more)+len(still) > 0 || wider(policy.Decide(p, b, s)) {
			return
		}
		if r := drawRequest(t); s.Admits(r) == sandbox.Allow && p.Admits(r) != sandbox.Allow {
			t.Fatalf("the workload reaches %+v, the policy says %s", r, p.Admits(r))
		}
	})
}

func wider(d sandbox.Decision) bool {
	for _, f := range d.Findings {
		switch f.Code {
		case sandbox.CodeEgressModeDenied, sandbox.CodeEgressNotWithinPolicy, sandbox.CodeEgressNeverReaches:
			return true
		}
	}
	return false
}

// Knowing more settles an open answer and never turns a settled one.
func TestKnowingMoreNeverTurnsWhatIsAdmitted(t *testing.T) {
	t.Parallel()
	fields := []string{"egress_mode", "egress_hosts", "egress_rules", "never_reaches", "name"}
	rapid.Check(t, func(t *rapid.T) {
		plain := drawPolicy(t)
		r := drawRequest(t)
		known, problems := policy.CompilePolicy(policy.Layer{Policy: plain})
		if len(problems) > 0 {
			return
		}
		hidden := sandbox.Known{}.Unknown(sandbox.Path(pick(t, "unknown", fields...)))
		open, _ := policy.CompilePolicy(policy.Layer{Policy: plain, Known: hidden})
		if got := open.Admits(r); got != sandbox.Undecided && got != known.Admits(r) {
			t.Fatalf("%s before, %s once known", got, known.Admits(r))
		}
	})
}

func TestNothingIsAdmittedWithoutAPolicyThatOpens(t *testing.T) {
	t.Parallel()
	r := egress.Request{Host: "a.example", Port: 443}
	open := sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressUnrestricted}}
	for name, c := range map[string]struct {
		layers []policy.Layer
		want   sandbox.Verdict
	}{
		"no policy":              {nil, sandbox.Deny},
		"no opinion":             {[]policy.Layer{{}}, sandbox.Deny},
		"one that opens":         {[]policy.Layer{{Policy: open}}, sandbox.Allow},
		"beside no opinion":      {[]policy.Layer{{}, {Policy: open}}, sandbox.Allow},
		"beside one that closes": {[]policy.Layer{{Policy: open}, {Policy: sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressClosed}}}}, sandbox.Deny},
		"beside one not known":   {[]policy.Layer{{Policy: open}, {Known: sandbox.Known{}.Unknown(nil)}}, sandbox.Undecided},
	} {
		p, problems := policy.CompilePolicy(c.layers...)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := p.Admits(r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if (*policy.CompiledPolicy)(nil).Admits(r) != sandbox.Deny || (*policy.CompiledSpec)(nil).Admits(r) != sandbox.Deny {
		t.Error("nothing admits something")
	}
}
