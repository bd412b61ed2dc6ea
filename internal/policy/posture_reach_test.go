package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func TestReachContainsWithAWitness(t *testing.T) {
	t.Parallel()
	allow := func(hosts ...string) sandbox.Policy {
		return sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: hosts}}
	}
	all := func(never ...string) sandbox.Policy {
		return sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressUnrestricted}, NeverReaches: never}
	}
	closed := sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressClosed}}
	mode, hosts, never := sandbox.Path("egress_mode"), sandbox.Path("egress_hosts"), sandbox.Path("never_reaches")
	for name, row := range map[string]struct {
		outer, inner   sandbox.Policy
		outerK, innerK sandbox.Known
		want           sandbox.Verdict
		witness        string
	}{
		"nothing in nothing":              {outer: closed, inner: sandbox.Policy{}, want: sandbox.Allow},
		"a host in nothing":               {outer: closed, inner: allow("a.example.com"), want: sandbox.Deny, witness: "a.example.com:443"},
		"a host in its suffix":            {outer: allow("*.example.com"), inner: allow("a.example.com"), want: sandbox.Allow},
		"a suffix in a host":              {outer: allow("a.example.com"), inner: allow("*.example.com"), want: sandbox.Deny, witness: "evil.example.com:443"},
		"a host in everything":            {outer: all(), inner: allow("a.example.com"), want: sandbox.Allow},
		"a host in all but itself":        {outer: all("*.example.com"), inner: allow("a.example.com"), want: sandbox.Deny, witness: "a.example.com:443"},
		"a host in all but another":       {outer: all("*.example.com"), inner: allow("a.example.org"), want: sandbox.Allow},
		"everything in a list":            {outer: allow("a.example.com"), inner: all(), want: sandbox.Deny, witness: "any destination"},
		"everything in all but a host":    {outer: all("a.example.com"), inner: all(), want: sandbox.Deny, witness: "a.example.com:443"},
		"all but more in all but a host":  {outer: all("a.example.com"), inner: all("*.example.com"), want: sandbox.Allow},
		"an unknown mode in nothing":      {outer: closed, inner: sandbox.Policy{}, innerK: unknown(mode), want: sandbox.Undecided},
		"an unknown mode in everything":   {outer: all(), inner: sandbox.Policy{}, innerK: unknown(mode), want: sandbox.Allow},
		"nothing in an unknown mode":      {outer: sandbox.Policy{}, inner: closed, outerK: unknown(mode), want: sandbox.Allow},
		"a host in an unknown mode":       {outer: allow("a.example.com"), inner: allow("a.example.com"), outerK: unknown(mode), want: sandbox.Undecided},
		"a host in unknown hosts":         {outer: allow("a.example.com", ""), inner: allow("b.example.com"), outerK: unknown(hosts.Append(sandbox.Index(1))), want: sandbox.Undecided},
		"a host beside unknown hosts":     {outer: allow("a.example.com", ""), inner: allow("a.example.com"), outerK: unknown(hosts.Append(sandbox.Index(1))), want: sandbox.Allow},
		"unknown hosts beside a bad one":  {outer: allow("a.example.com"), inner: allow("b.example.com", ""), innerK: unknown(hosts.Append(sandbox.Index(1))), want: sandbox.Deny, witness: "b.example.com:443"},
		"unknown hosts beside a good one": {outer: allow("a.example.com"), inner: allow("a.example.com", ""), innerK: unknown(hosts.Append(sandbox.Index(1))), want: sandbox.Undecided},
		"unknown exceptions outside":      {outer: all(), inner: allow("a.example.com"), outerK: unknown(never), want: sandbox.Undecided},
		"unknown exceptions inside":       {outer: all("a.example.com"), inner: all(), innerK: unknown(never), want: sandbox.Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := reachOf(policy.Layer{Policy: row.outer, Known: row.outerK})
			inner := reachOf(policy.Layer{Policy: row.inner, Known: row.innerK})
			if got, witness := outer.Contains(inner); got != row.want || witness != row.witness {
				t.Errorf("%s, %q", got, witness)
			}
		})
	}
}

// Containment is what the matcher says request by request, it is the question
// that the decision asks of a workload under a policy, and not knowing a part
// only moves an answer to undecided.
func TestReachContainsExactlyWhatTheMatcherAdmits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		outer, inner := drawPolicy(t), drawPolicy(t)
		oc, problems := policy.CompilePolicy(policy.Layer{Policy: outer})
		ic, more := policy.CompilePolicy(policy.Layer{Policy: inner})
		if len(problems)+len(more) > 0 {
			t.Skip("not a sound policy")
		}
		verdict, witness := reachOf(policy.Layer{Policy: outer}).Contains(reachOf(policy.Layer{Policy: inner}))
		if verdict == sandbox.Undecided || (verdict == sandbox.Deny) != (witness != "") {
			t.Fatalf("%s with witness %q", verdict, witness)
		}
		request := egress.Request{
			Host: pick(t, "host", "a.example", "b.example", "x.a.example", "example", "example.org"),
			Port: pick(t, "port", uint16(443), 80), Method: pick(t, "method", "", "GET", "POST"), Path: pick(t, "path", "", "/", "/v1"),
		}
		if verdict == sandbox.Allow && ic.Admits(request) == sandbox.Allow && oc.Admits(request) != sandbox.Allow {
			t.Fatalf("%+v is admitted only by the inner side", request)
		}
		known := drawUnknown(t, "inner", policyFields)
		less, _ := reachOf(policy.Layer{Policy: outer}).Contains(reachOf(policy.Layer{Policy: zeroUnknownPolicy(inner, known), Known: known}))
		if less != verdict && less != sandbox.Undecided {
			t.Fatalf("%s, and %s when less of the inner side is known", verdict, less)
		}
		less, _ = reachOf(policy.Layer{Policy: zeroUnknownPolicy(outer, known), Known: known}).Contains(reachOf(policy.Layer{Policy: inner}))
		if less != verdict && less != sandbox.Undecided {
			t.Fatalf("%s, and %s when less of the outer side is known", verdict, less)
		}
	})
}

func reachOf(l policy.Layer) policy.Reach {
	compiled, _ := policy.CompilePolicy(l)
	return compiled.Reach()
}
