package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func pick[T any](t *rapid.T, label string, of ...T) T { return rapid.SampledFrom(of).Draw(t, label) }

func subset[T interface {
	~uint8
	String() string
}](t *rapid.T, label string, of []T,
) sandbox.Set[T] {
	var s sandbox.Set[T]
	for _, w := range of {
		if rapid.Bool().Draw(t, label) {
			s = s.With(w)
		}
	}
	return s
}

func drawEgress(t *rapid.T, label string) sandbox.Egress {
	e := sandbox.Egress{Mode: pick(t, label+" mode", sandbox.EgressUnspecified, sandbox.EgressClosed, sandbox.EgressAllowlist, sandbox.EgressUnrestricted)}
	if e.Mode != sandbox.EgressAllowlist {
		return e
	}
	e.Hosts = rapid.SliceOfN(rapid.SampledFrom([]string{"a.example", "b.example", "*.example", "x.a.example"}), 1, 2).Draw(t, label+" hosts")
	if rapid.Bool().Draw(t, label+" has rule") {
		e.Rules = map[string]sandbox.EgressRule{"r": {
			Host: pick(t, label+" rule host", "a.example", "10.0.0.0/8"), Ports: []string{pick(t, label+" port", "443", "80-90")},
			Methods: []string{pick(t, label+" method", "GET", "*")}, Paths: []string{pick(t, label+" path", "/v1", "*")},
		}}
	}
	return e
}

func drawLimits(t *rapid.T, label string) *sandbox.TransferLimits {
	n := pick(t, label, int64(-1), 0, 64, 1<<30)
	if n < 0 {
		return nil
	}
	return &sandbox.TransferLimits{MaxBytesPerFile: n, MaxTotalBytes: n, MaxFiles: n}
}

func drawPolicy(t *rapid.T) sandbox.Policy {
	p := sandbox.Policy{
		MinimumIsolation:      pick(t, "floor", append([]sandbox.Isolation{0}, sandbox.Isolations()...)...),
		MinimumEvidence:       pick(t, "evidence", sandbox.EvidenceKind(0), sandbox.EvidenceDocumented, sandbox.EvidenceProbed),
		MinimumIsolationScope: pick(t, "scope", sandbox.ScopeUnspecified, sandbox.ScopeConversation, sandbox.ScopeCall),
		DeniedCapabilities:    subset(t, "denied", []sandbox.Capability{sandbox.CapabilityExec, sandbox.CapabilityEgressMethods, sandbox.CapabilityHostTools}),
		DeniedIdentities:      subset(t, "denied ids", sandbox.Identities()),
		MaximumIdentityScope:  pick(t, "max identity", sandbox.IdentityScope(0), sandbox.IdentityScopeNone, sandbox.IdentityScopeShared),
		Egress:                drawEgress(t, "policy"),
		EgressMatch:           pick(t, "match", sandbox.EgressMatchUnspecified, sandbox.EgressMatchExact, sandbox.EgressMatchAtLeast),
		MissingGuarantees:     pick(t, "missing", sandbox.MissingGuaranteesUnspecified, sandbox.MissingGuaranteesWarn, sandbox.MissingGuaranteesRefuse),
		FilesIn:               drawLimits(t, "policy in"),
		Images: sandbox.ImagePolicy{
			RequireDigest: rapid.Bool().Draw(t, "require digest"),
			Prebuilt:      pick(t, "prebuilt", sandbox.PrebuiltRule(0), sandbox.PrebuiltDeny, sandbox.PrebuiltAllow),
			User:          pick(t, "image user", sandbox.ImageUser(0), sandbox.ImageUserAny, sandbox.ImageUserNonRoot, sandbox.ImageUserRoot),
		},
	}
	p.Egress.Guarantees = subset(t, "policy guarantees", []sandbox.Guarantee{sandbox.GuaranteeUDPDenied, sandbox.GuaranteePathConfined})
	if rapid.Bool().Draw(t, "never") {
		p.NeverReaches = []string{pick(t, "never host", "b.example", "*.z", "10.1.0.0/16")}
	}
	if rapid.Bool().Draw(t, "registries") {
		p.Images.Registries = []string{"r.example"}
	}
	return p
}

func drawSpec(t *rapid.T) sandbox.Spec {
	s := sandbox.Spec{
		Kind: "k", Backend: "b",
		MinimumIsolation: pick(t, "spec floor", append([]sandbox.Isolation{0}, sandbox.Isolations()...)...),
		IsolationScope:   pick(t, "spec scope", sandbox.ScopeUnspecified, sandbox.ScopeConversation, sandbox.ScopeCall),
		OSFamily:         pick(t, "os", sandbox.OSFamily(0), sandbox.OSFamilyPOSIX, sandbox.OSFamilyWindows),
		Egress:           drawEgress(t, "spec"),
		FilesIn:          drawLimits(t, "spec in"),
		ProgramProfile:   pick(t, "profile", "", "p", "q"),
	}
	s.Egress.Guarantees = subset(t, "spec guarantees", []sandbox.Guarantee{sandbox.GuaranteeSNIBound})
	requires := subset(t, "requires", []sandbox.Capability{
		sandbox.CapabilityExec, sandbox.CapabilityFilesOut, sandbox.CapabilityFilesDelete, sandbox.CapabilityAttachedIdentity, sandbox.CapabilityHostTools,
	})
	s.Requires = &requires
	if requires.Has(sandbox.CapabilityHostTools) {
		s.Identities = subset(t, "identities", sandbox.Identities())
	}
	if requires.Has(sandbox.CapabilityAttachedIdentity) {
		s.MaximumIdentityScope, s.IdentityRetentionSeconds = sandbox.IdentityScopePerScope, 60
	}
	switch pick(t, "image", "none", "prebuilt", "reference") {
	case "prebuilt":
		s.Image = sandbox.Image{Prebuilt: "python"}
	case "reference":
		s.Image = sandbox.Image{Reference: pick(t, "reference", "r.example/a:1", "o.example/a:1"), User: pick(t, "user", "", "0", "1000", "app")}
	}
	return s
}

func drawDeclarations(t *rapid.T) sandbox.Declarations {
	caps := subset(t, "caps", sandbox.Capabilities())
	d := sandbox.Declarations{
		Backend: "b", Isolation: pick(t, "rung", sandbox.Isolations()...),
		IsolationEvidence: sandbox.Evidence{Kind: pick(t, "rung evidence", sandbox.EvidenceKinds()...)},
		EgressModes:       subset(t, "modes", sandbox.EgressModes()),
		Guarantees:        map[sandbox.Guarantee]sandbox.Evidence{},
		ImageSources:      subset(t, "image sources", sandbox.ImageSources()),
		OSFamilies:        subset(t, "families", sandbox.OSFamilies()),
		IsolationScopes:   subset(t, "scopes", sandbox.IsolationScopes()),
		WriteAuthority:    pick(t, "write authority", append(sandbox.WriteAuthorities(), sandbox.WriteAuthorityUnspecified)...),
		ProgramChannels:   []sandbox.ProgramChannel{{Name: "c", Profiles: []string{"p"}, HostTools: rapid.Bool().Draw(t, "channel tools"), Needs: sandbox.SetOf(sandbox.CapabilityExec)}},
	}
	for _, g := range sandbox.Guarantees() {
		if k := pick(t, "guarantee", append([]sandbox.EvidenceKind{0}, sandbox.EvidenceKinds()...)...); k != 0 {
			d.Guarantees[g] = sandbox.Evidence{Kind: k}
		}
	}
	if rapid.Bool().Draw(t, "any method") {
		d.MethodTokens = []string{pick(t, "token", "GET", "POST")}
	}
	caps = caps.Minus(sandbox.SetOf(sandbox.CapabilityAttachedIdentity))
	if rapid.Bool().Draw(t, "attached") {
		caps = caps.With(sandbox.CapabilityAttachedIdentity)
		d.AttachedIdentity = sandbox.AttachedIdentity{
			Scope: sandbox.IdentityScopePerScope, RetentionSeconds: 60, Channels: sandbox.SetOf(sandbox.ChannelEgressHeader),
		}
	}
	d.Capabilities = &caps
	return d
}

var policyFields = []string{
	"minimum_isolation", "minimum_evidence", "minimum_isolation_scope", "denied_capabilities", "denied_identities",
	"maximum_identity_scope", "egress_mode", "egress_hosts", "egress_rules", "egress_guarantees", "egress_match",
	"missing_guarantees", "never_reaches", "files_in_limits", "image_registries", "image_require_digest",
	"image_prebuilt", "image_user",
}

var specFields = []string{
	"minimum_isolation", "isolation_scope", "os_family", "egress_mode", "egress_hosts", "egress_rules",
	"egress_guarantees", "files_in_limits", "program_profile", "requires", "identities", "maximum_identity_scope",
	"image", "image.user", "image.reference", "image.prebuilt", "image.digest", "egress_hosts[0]",
}

func drawUnknown(t *rapid.T, label string, fields []string) sandbox.Known {
	var known sandbox.Known
	for _, f := range fields {
		if rapid.IntRange(0, 5).Draw(t, label+" "+f) != 0 {
			continue
		}
		switch f {
		case "egress_hosts[0]":
			known = known.Unknown(sandbox.Path("egress_hosts", 0))
		case "image.user", "image.reference", "image.prebuilt", "image.digest":
			known = known.Unknown(sandbox.Path("image", f[len("image."):]))
		default:
			known = known.Unknown(sandbox.Path(f))
		}
	}
	return known
}

// zeroUnknown overwrites what is marked unknown, since a mark says that the
// value beside it means nothing.
func zeroUnknownPolicy(p sandbox.Policy, known sandbox.Known) sandbox.Policy {
	for _, path := range known.Paths() {
		switch path.String() {
		case "minimum_isolation":
			p.MinimumIsolation = 0
		case "minimum_evidence":
			p.MinimumEvidence = 0
		case "minimum_isolation_scope":
			p.MinimumIsolationScope = 0
		case "denied_capabilities":
			p.DeniedCapabilities = sandbox.CapabilitySet{}
		case "denied_identities":
			p.DeniedIdentities = sandbox.IdentitySet{}
		case "maximum_identity_scope":
			p.MaximumIdentityScope = 0
		case "egress_mode":
			p.Egress.Mode = 0
		case "egress_hosts":
			p.Egress.Hosts = nil
		case "egress_rules":
			p.Egress.Rules = nil
		case "egress_guarantees":
			p.Egress.Guarantees = sandbox.GuaranteeSet{}
		case "egress_match":
			p.EgressMatch = 0
		case "missing_guarantees":
			p.MissingGuarantees = 0
		case "never_reaches":
			p.NeverReaches = nil
		case "files_in_limits":
			p.FilesIn = nil
		case "image_registries":
			p.Images.Registries = nil
		case "image_require_digest":
			p.Images.RequireDigest = false
		case "image_prebuilt":
			p.Images.Prebuilt = 0
		case "image_user":
			p.Images.User = 0
		}
	}
	return p
}

func zeroUnknownSpec(s sandbox.Spec, known sandbox.Known) sandbox.Spec {
	for _, path := range known.Paths() {
		switch path.String() {
		case "minimum_isolation":
			s.MinimumIsolation = 0
		case "isolation_scope":
			s.IsolationScope = 0
		case "os_family":
			s.OSFamily = 0
		case "egress_mode":
			s.Egress.Mode = 0
		case "egress_hosts":
			s.Egress.Hosts = nil
		case "egress_hosts[0]":
			if len(s.Egress.Hosts) > 0 {
				s.Egress.Hosts = append([]string{""}, s.Egress.Hosts[1:]...)
			}
		case "egress_rules":
			s.Egress.Rules = nil
		case "egress_guarantees":
			s.Egress.Guarantees = sandbox.GuaranteeSet{}
		case "files_in_limits":
			s.FilesIn = nil
		case "program_profile":
			s.ProgramProfile = ""
		case "requires":
			none := sandbox.CapabilitySet{}
			s.Requires = &none
		case "identities":
			s.Identities = sandbox.IdentitySet{}
		case "maximum_identity_scope":
			s.MaximumIdentityScope, s.IdentityRetentionSeconds = 0, 0
		case "image":
			s.Image = sandbox.Image{}
		case "image.user":
			s.Image.User = ""
		case "image.reference":
			s.Image.Reference = ""
		case "image.prebuilt":
			s.Image.Prebuilt = ""
		case "image.digest":
			s.Image.Digest = ""
		}
	}
	return s
}

func compiled(t *rapid.T, p sandbox.Policy, pk sandbox.Known, s sandbox.Spec, sk sandbox.Known, d sandbox.Declarations) (*policy.CompiledPolicy, *policy.CompiledSpec, *policy.CompiledDeclarations, bool) {
	t.Helper()
	cp, f1 := policy.CompilePolicy(policy.Layer{Source: "the policy", Policy: p, Known: pk})
	cs, f2 := policy.CompileSpec(s, sk)
	cd, f3 := policy.CompileDeclarations(d)
	return cp, cs, cd, len(f1)+len(f2)+len(f3) == 0
}

// The law on which a plan rests: what is not known yet can only make the answer
// undecided. It never turns an allow into a deny or a deny into an allow.
func TestNotKnowingOnlyMovesAnswersToUndecided(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, s, d := drawPolicy(t), drawSpec(t), drawDeclarations(t)
		cp, cs, cd, sound := compiled(t, p, sandbox.Known{}, s, sandbox.Known{}, d)
		if !sound {
			t.Skip("not a sound world")
		}
		full := policy.Decide(cp, cd, cs)
		if full.Verdict == sandbox.Undecided {
			t.Fatalf("everything is known, yet undecided: %v", full.Findings)
		}
		pk, sk := drawUnknown(t, "policy", policyFields), drawUnknown(t, "spec", specFields)
		cp, cs, _, sound = compiled(t, zeroUnknownPolicy(p, pk), pk, zeroUnknownSpec(s, sk), sk, d)
		if !sound {
			t.Fatalf("knowing less made a finding of the sides alone")
		}
		partial := policy.Decide(cp, cd, cs)
		if partial.Verdict != sandbox.Undecided && partial.Verdict != full.Verdict {
			t.Fatalf("with %v and %v unknown: %s, known: %s\npartial %v\nfull %v",
				pk.Paths(), sk.Paths(), partial.Verdict, full.Verdict, partial.Findings, full.Findings)
		}
	})
}

func TestAddingADenialNeverTurnsADenyIntoAnAllow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, s, d := drawPolicy(t), drawSpec(t), drawDeclarations(t)
		cp, cs, cd, sound := compiled(t, p, sandbox.Known{}, s, sandbox.Known{}, d)
		if !sound {
			t.Skip("not a sound world")
		}
		before := policy.Decide(cp, cd, cs)
		extra := drawPolicy(t)
		stricter, findings := policy.CompilePolicy(
			policy.Layer{Source: "the policy", Policy: p},
			policy.Layer{Source: "another", Policy: sandbox.Policy{
				DeniedCapabilities: extra.DeniedCapabilities, DeniedIdentities: extra.DeniedIdentities,
				NeverReaches: extra.NeverReaches, MinimumIsolation: p.MinimumIsolation,
			}})
		if len(findings) > 0 {
			t.Skip("not a sound world")
		}
		after := policy.Decide(stricter, cd, cs)
		if after.Verdict > before.Verdict {
			t.Fatalf("a denial more turned %s into %s", before.Verdict, after.Verdict)
		}
	})
}
