package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

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
		{"a default spelt out", nothing, func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationMicroVM }, "", policy.Equal, ""},
		{"a lower floor", nothing, func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationContainer }, "minimum_isolation", policy.Widened, ""},
		{"a higher floor", nothing, func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationVM }, "minimum_isolation", policy.Narrowed, ""},
		{"less evidence", nothing, func(p *sandbox.Policy) { p.MinimumEvidence = sandbox.EvidenceDocumented }, "minimum_evidence", policy.Widened, ""},
		{"a denial less", func(p *sandbox.Policy) { p.DeniedIdentities = sandbox.SetOf(sandbox.IdentityApp) }, nothing, "denied_identities", policy.Widened, "app no longer"},
		{"a denial more", nothing, func(p *sandbox.Policy) { p.DeniedCapabilities = sandbox.SetOf(sandbox.CapabilityExec) }, "denied_capabilities", policy.Narrowed, ""},
		{"a denial for another", func(p *sandbox.Policy) { p.DeniedIdentities = sandbox.SetOf(sandbox.IdentityApp) }, func(p *sandbox.Policy) { p.DeniedIdentities = sandbox.SetOf(sandbox.IdentityUser) }, "denied_identities", policy.Incomparable, "app no longer"},
		{"a host more", allow("a.example.com"), allow("a.example.com", "b.example.com"), "egress", policy.Widened, "b.example.com:443"},
		{"a host less", allow("a.example.com", "b.example.com"), allow("a.example.com"), "egress", policy.Narrowed, ""},
		{"the same hosts in another order and spelling", allow("a.example.com", "b.example.com"), allow("B.example.com.", "a.example.com"), "", policy.Equal, ""},
		{"a host that a wildcard covers already", allow("*.example.com"), allow("*.example.com", "a.example.com"), "", policy.Equal, ""},
		{"a host for another", allow("a.example.com"), allow("b.example.com"), "egress", policy.Incomparable, "b.example.com:443"},
		{"an allowlist where it was closed", nothing, allow("a.example.com"), "egress_mode", policy.Widened, "a.example.com:443"},
		{"closed where it was an allowlist", allow("a.example.com"), nothing, "egress_mode", policy.Narrowed, ""},
		{"an assertion less", func(p *sandbox.Policy) { p.NeverReaches = []string{"*.internal.example.com"} }, nothing, "never_reaches", policy.Widened, "evil.internal.example.com:443 is no longer ruled out"},
		{"a ceiling less", func(p *sandbox.Policy) { p.FilesIn = &limits }, nothing, "files_in_limits", policy.Widened, ""},
		{"a higher ceiling", func(p *sandbox.Policy) { p.FilesIn = &limits }, func(p *sandbox.Policy) { p.FilesIn = &more }, "files_in_limits", policy.Widened, ""},
		{"a registry more", func(p *sandbox.Policy) { p.Images.Registries = []string{} }, func(p *sandbox.Policy) { p.Images.Registries = []string{"r.example"} }, "image_registries", policy.Widened, "r.example"},
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
		s, d := drawSpec(t), drawDeclarations(t)
		old, cs, cd, sound := compiled(t, before, sandbox.Known{}, s, sandbox.Known{}, d)
		next, _, _, sound2 := compiled(t, after, sandbox.Known{}, s, sandbox.Known{}, d)
		if !sound || !sound2 {
			t.Skip("not a sound world")
		}
		if len(policy.Widenings(policy.ComparePolicies(before, after))) > 0 {
			return
		}
		if policy.Decide(next, cd, cs).Verdict == sandbox.Allow && policy.Decide(old, cd, cs).Verdict != sandbox.Allow {
			t.Fatalf("admitted only by the later policy: %v", policy.Decide(old, cd, cs).Findings)
		}
	})
}
