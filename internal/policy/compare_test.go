package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// api and port are allowlists of one rule.
func api(methods ...string) sandbox.Egress {
	return sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{
		"api": {Host: "api.example.com", Ports: []string{"443"}, Methods: methods, Paths: []string{"*"}},
	}}
}

func port(p string) sandbox.Egress {
	return sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{
		"api": {Host: "api.example.com", Ports: []string{p}, Methods: []string{"*"}, Paths: []string{"*"}},
	}}
}

func TestEachAxisOfAPolicyKnowsItsDirection(t *testing.T) {
	t.Parallel()
	limits := sandbox.TransferLimits{MaxBytesPerFile: 1, MaxTotalBytes: 1, MaxFiles: 1}
	more := sandbox.TransferLimits{MaxBytesPerFile: 2, MaxTotalBytes: 1, MaxFiles: 1}
	allow := func(hosts ...string) func(*sandbox.Policy) {
		return func(p *sandbox.Policy) { p.Egress = sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: hosts} }
	}
	nothing := func(*sandbox.Policy) {}
	rows := []struct {
		name          string
		before, after func(*sandbox.Policy)
		axis          string // empty where nothing changes
		want          policy.Change
		witness       string
	}{
		{"nothing", nothing, nothing, "", policy.Equal, ""},
		{"a default spelt out", nothing, func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationMicroVM }, "minimum_isolation", policy.Narrowed, ""},
		{"a default no longer spelt out", func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationMicroVM }, nothing, "minimum_isolation", policy.Widened, ""},
		{"a floor below the default no longer spelt out", func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationRuntime }, nothing, "minimum_isolation", policy.Incomparable, ""},
		{"no floor at all", nothing, func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationNone }, "minimum_isolation", policy.Widened, ""},
		{"a default that is the weakest spelt out", nothing, func(p *sandbox.Policy) { p.MissingGuarantees = sandbox.MissingGuaranteesWarn }, "", policy.Equal, ""},
		{"missing guarantees let through", func(p *sandbox.Policy) { p.MissingGuarantees = sandbox.MissingGuaranteesRefuse }, nothing, "missing_guarantees", policy.Widened, ""},
		{"clean-up left to others", func(p *sandbox.Policy) { p.MinimumCleanup = sandbox.CleanupDispose }, nothing, "minimum_cleanup", policy.Widened, ""},
		{"a sandbox for each call no longer", func(p *sandbox.Policy) { p.MinimumIsolationScope = sandbox.ScopeCall }, nothing, "minimum_isolation_scope", policy.Widened, ""},
		{"documented evidence no longer accepted", func(p *sandbox.Policy) { p.MinimumEvidence = sandbox.EvidenceDocumented }, nothing, "minimum_evidence", policy.Narrowed, ""},
		{"probed evidence no longer spelt out", func(p *sandbox.Policy) { p.MinimumEvidence = sandbox.EvidenceProbed }, nothing, "minimum_evidence", policy.Widened, ""},
		{"an identity that may be shared", nothing, func(p *sandbox.Policy) { p.MaximumIdentityScope = sandbox.IdentityScopeShared }, "maximum_identity_scope", policy.Widened, ""},
		{"an identity bound no longer spelt out", func(p *sandbox.Policy) { p.MaximumIdentityScope = sandbox.IdentityScopeNone }, nothing, "maximum_identity_scope", policy.Widened, ""},
		{"a looser match", func(p *sandbox.Policy) { p.EgressMatch = sandbox.EgressMatchExact }, func(p *sandbox.Policy) { p.EgressMatch = sandbox.EgressMatchAtLeast }, "egress_match", policy.Widened, ""},
		{"a match left to others", func(p *sandbox.Policy) { p.EgressMatch = sandbox.EgressMatchExact }, nothing, "egress_match", policy.Widened, ""},
		{"closed left to others", func(p *sandbox.Policy) { p.Egress.Mode = sandbox.EgressClosed }, nothing, "egress_mode", policy.Widened, ""},
		{"closed spelt out", nothing, func(p *sandbox.Policy) { p.Egress.Mode = sandbox.EgressClosed }, "egress_mode", policy.Narrowed, ""},
		{"an allowlist left to others", allow("a.example.com"), nothing, "egress_mode", policy.Incomparable, ""},
		{"unrestricted left to others", func(p *sandbox.Policy) { p.Egress.Mode = sandbox.EgressUnrestricted }, nothing, "egress_mode", policy.Narrowed, ""},
		{"unrestricted for an allowlist", allow("a.example.com"), func(p *sandbox.Policy) { p.Egress.Mode = sandbox.EgressUnrestricted }, "egress_mode", policy.Widened, "any destination"},
		{"a guarantee less", func(p *sandbox.Policy) { p.Egress.Guarantees = sandbox.SetOf(sandbox.GuaranteeSNIBound) }, nothing, "egress_guarantees", policy.Widened, "sni_bound no longer demanded"},
		{"an assertion for a narrower one", func(p *sandbox.Policy) { p.NeverReaches = []string{"10.0.0.0/8"} }, func(p *sandbox.Policy) { p.NeverReaches = []string{"10.1.0.0/16"} }, "never_reaches", policy.Widened, "10.0.0.0:443 no longer ruled out"},
		{"an assertion spelt otherwise", func(p *sandbox.Policy) { p.NeverReaches = []string{"A.example.com."} }, func(p *sandbox.Policy) { p.NeverReaches = []string{"a.example.com"} }, "", policy.Equal, ""},
		{"catalogue images no longer denied", func(p *sandbox.Policy) { p.Images.Prebuilt = sandbox.PrebuiltDeny }, nothing, "image_prebuilt", policy.Widened, ""},
		{"a method of an allowed host", func(p *sandbox.Policy) { p.Egress = api("GET") }, func(p *sandbox.Policy) { p.Egress = api("GET", "POST") }, "egress", policy.Widened, "api.example.com:443 (POST /)"},
		{"a port for another", func(p *sandbox.Policy) { p.Egress = port("443") }, func(p *sandbox.Policy) { p.Egress = port("8443") }, "egress", policy.Incomparable, "api.example.com:8443"},
		{"a lower floor", func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationMicroVM }, func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationContainer }, "minimum_isolation", policy.Widened, ""},
		{"a floor below the default", nothing, func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationContainer }, "minimum_isolation", policy.Incomparable, ""},
		{"a higher floor", nothing, func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationVM }, "minimum_isolation", policy.Narrowed, ""},
		{"less evidence", nothing, func(p *sandbox.Policy) { p.MinimumEvidence = sandbox.EvidenceDocumented }, "minimum_evidence", policy.Widened, ""},
		{"a denial less", func(p *sandbox.Policy) { p.DeniedIdentities = sandbox.SetOf(sandbox.IdentityApp) }, nothing, "denied_identities", policy.Widened, "app no longer denied"},
		{"a denial more", nothing, func(p *sandbox.Policy) { p.DeniedCapabilities = sandbox.SetOf(sandbox.CapabilityExec) }, "denied_capabilities", policy.Narrowed, ""},
		{"a denial for another", func(p *sandbox.Policy) { p.DeniedIdentities = sandbox.SetOf(sandbox.IdentityApp) }, func(p *sandbox.Policy) { p.DeniedIdentities = sandbox.SetOf(sandbox.IdentityUser) }, "denied_identities", policy.Incomparable, "app no longer denied"},
		{"a host more", allow("a.example.com"), allow("a.example.com", "b.example.com"), "egress", policy.Widened, "b.example.com:443"},
		{"a host less", allow("a.example.com", "b.example.com"), allow("a.example.com"), "egress", policy.Narrowed, ""},
		{"the same hosts in another order and spelling", allow("a.example.com", "b.example.com"), allow("B.example.com.", "a.example.com"), "", policy.Equal, ""},
		{"a host that a wildcard covers already", allow("*.example.com"), allow("*.example.com", "a.example.com"), "", policy.Equal, ""},
		{"a host for another", allow("a.example.com"), allow("b.example.com"), "egress", policy.Incomparable, "b.example.com:443"},
		{"an allowlist where it was closed", func(p *sandbox.Policy) { p.Egress.Mode = sandbox.EgressClosed }, allow("a.example.com"), "egress_mode", policy.Widened, "a.example.com:443"},
		{"closed where it was an allowlist", allow("a.example.com"), func(p *sandbox.Policy) { p.Egress.Mode = sandbox.EgressClosed }, "egress_mode", policy.Narrowed, ""},
		{"an assertion less", func(p *sandbox.Policy) { p.NeverReaches = []string{"*.internal.example.com"} }, nothing, "never_reaches", policy.Widened, "evil.internal.example.com:443 no longer ruled out"},
		{"a ceiling less", func(p *sandbox.Policy) { p.FilesIn = &limits }, nothing, "files_in_limits", policy.Widened, ""},
		{"a higher ceiling", func(p *sandbox.Policy) { p.FilesIn = &limits }, func(p *sandbox.Policy) { p.FilesIn = &more }, "files_in_limits", policy.Widened, ""},
		{"a registry more", func(p *sandbox.Policy) { p.Images.Registries = []string{} }, func(p *sandbox.Policy) { p.Images.Registries = []string{"r.example"} }, "image_registries", policy.Widened, "r.example permitted"},
		{"any registry", func(p *sandbox.Policy) { p.Images.Registries = []string{"r.example"} }, nothing, "image_registries", policy.Widened, ""},
		{"no digest needed", func(p *sandbox.Policy) { p.Images.RequireDigest = true }, nothing, "image_require_digest", policy.Widened, ""},
		{"root instead of another", func(p *sandbox.Policy) { p.Images.User = sandbox.ImageUserNonRoot }, func(p *sandbox.Policy) { p.Images.User = sandbox.ImageUserRoot }, "image_user", policy.Incomparable, ""},
		{"the name", nothing, func(p *sandbox.Policy) { p.Name = "other" }, "", policy.Equal, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var before, after sandbox.Policy
			row.before(&before)
			row.after(&after)
			changes := policy.ComparePolicies(before, after)
			if row.axis == "" {
				if len(changes) > 0 {
					t.Errorf("changed: %+v", changes)
				}
				return
			}
			if len(changes) != 1 || changes[0].Axis != row.axis || changes[0].Change != row.want || changes[0].Witness != row.witness {
				t.Errorf("got %+v", changes)
			}
			if got := len(policy.Widenings(changes)) > 0; got != row.want.Widens() {
				t.Errorf("widens: %v", got)
			}
		})
	}
}

// What a policy that did not widen admits, the earlier one admitted too: the law
// that makes "narrowed" safe to wave through.
func TestWhatDidNotWidenAdmitsNothingNew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawPolicy(t), drawPolicy(t)
		if rapid.Bool().Draw(t, "near") { // a small step finds more than two strangers
			after = before
			after.Egress = drawEgress(t, "next")
			after.MinimumIsolation = pick(t, "next floor", append([]sandbox.Isolation{0}, sandbox.Isolations()...)...)
		}
		s, d, beside := drawSpec(t), drawDeclarations(t), sandbox.Policy{}
		if rapid.Bool().Draw(t, "beside another") {
			beside = drawPolicy(t)
		}
		_, cs, cd, sound := compiled(t, before, sandbox.Known{}, s, sandbox.Known{}, d)
		_, _, _, sound2 := compiled(t, after, sandbox.Known{}, s, sandbox.Known{}, d)
		_, _, _, sound3 := compiled(t, beside, sandbox.Known{}, s, sandbox.Known{}, d)
		if !sound || !sound2 || !sound3 {
			t.Skip("not a sound world")
		}
		old, _ := policy.CompilePolicy(policy.Layer{Policy: beside}, policy.Layer{Policy: before})
		next, _ := policy.CompilePolicy(policy.Layer{Policy: beside}, policy.Layer{Policy: after})
		if len(policy.Widenings(policy.ComparePolicies(before, after))) > 0 {
			return
		}
		if policy.Decide(next, cd, cs).Verdict == sandbox.Allow && policy.Decide(old, cd, cs).Verdict != sandbox.Allow {
			t.Fatalf("admitted only by the later policy: %v", policy.Decide(old, cd, cs).Findings)
		}
	})
}
