package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func TestOpinionsAddUpToTheAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		layers := []policy.Layer{{Source: "one", Policy: drawPolicy(t)}, {Source: "two", Policy: drawPolicy(t)}}
		p, findings := policy.CompilePolicy(layers[:rapid.IntRange(1, 2).Draw(t, "layers")]...)
		s, problems := policy.CompileSpec(drawSpec(t), sandbox.Known{})
		if len(findings)+len(problems) > 0 {
			t.Skip("not a sound world")
		}
		r := drawRequest(t)
		least := sandbox.Allow
		for _, o := range p.Opinions(r) {
			least = min(least, o.Verdict)
			check(t, o, r)
		}
		if least != p.Admits(r) {
			t.Fatalf("%+v: the least opinion is %v, the answer %v", r, least, p.Admits(r))
		}
		o := s.Opinion(r)
		check(t, o, r)
		if o.Verdict != s.Admits(r) {
			t.Fatalf("%+v: the opinion is %v, the answer %v", r, o.Verdict, s.Admits(r))
		}
	})
}

// check holds the reasons of an opinion against its verdict.
func check(t *rapid.T, o policy.Opinion, r egress.Request) {
	t.Helper()
	admits := o.Mode == sandbox.EgressUnspecified || o.Mode == sandbox.EgressUnrestricted ||
		o.Mode == sandbox.EgressAllowlist && len(o.By) > 0 && o.Blocked == ""
	if (admits && len(o.Never) == 0) != (o.Verdict == sandbox.Allow) {
		t.Fatalf("%+v: %+v has no reason", r, o)
	}
	for _, by := range append(o.By, o.Never...) {
		if _, ok := egress.NewSet([]egress.Rule{by.Rule}).Match(r); !ok || len(by.Path) == 0 {
			t.Fatalf("%+v: named by mistake: %s", r, by.Rule)
		}
	}
}
