package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// fits is a policy, a workload and a backend that fit. Each row changes one of
// them by one step.
func fits() (sandbox.Policy, sandbox.Spec, sandbox.Declarations) {
	w := conformance.Fits()
	return w.Policy, w.Workload, w.Backend
}

func decide(t *testing.T, p sandbox.Policy, s sandbox.Spec, d sandbox.Declarations) sandbox.Decision {
	t.Helper()
	return decideKnown(t, p, sandbox.Known{}, s, sandbox.Known{}, d)
}

func decideKnown(t *testing.T, p sandbox.Policy, pk sandbox.Known, s sandbox.Spec, sk sandbox.Known, d sandbox.Declarations) sandbox.Decision {
	t.Helper()
	cp, findings := policy.CompilePolicy(policy.Layer{Source: `policy "agents"`, Policy: p, Known: pk})
	requireNone(t, findings)
	cs, findings := policy.CompileSpec(s, sk)
	requireNone(t, findings)
	cd, findings := policy.CompileDeclarations(d)
	requireNone(t, findings)
	return policy.Decide(cp, cd, cs)
}

func requireNone(t *testing.T, findings []sandbox.Finding) {
	t.Helper()
	for _, f := range findings {
		t.Errorf("unexpected finding: %s (found %s)", f.Locator(), f.Found)
	}
}

func TestDecisionRows(t *testing.T) {
	t.Parallel()
	type world struct {
		p *sandbox.Policy
		s *sandbox.Spec
		d *sandbox.Declarations
	}
	rows := []struct {
		name   string
		change func(world)
		want   []string // locators of what denies, in order
		says   string   // part of the first finding
	}{
		{"everything fits", func(world) {}, nil, ""},
		{"a denied capability", func(w world) { w.p.DeniedCapabilities = sandbox.SetOf(sandbox.CapabilityFilesOut) }, []string{"capability.denied at requires"}, "files_out"},
		{"a denied capability nobody requires", func(w world) { w.p.DeniedCapabilities = sandbox.SetOf(sandbox.CapabilityHostTools) }, nil, ""},
		{"a denied identity", func(w world) {
			w.p.DeniedIdentities = sandbox.SetOf(sandbox.IdentityApp)
			w.s.Identities = sandbox.SetOf(sandbox.IdentityApp)
			r := w.s.Requires.With(sandbox.CapabilityHostTools)
			w.s.Requires = &r
		}, []string{"identity.denied at identities"}, "app"},
		{"a backend below the floor", func(w world) { w.d.Isolation = sandbox.IsolationOSProcess }, []string{"isolation.below_floor at backend"}, `policy "agents" (container)`},
		{"the remedy names who set the floor", func(w world) { w.d.Isolation = sandbox.IsolationOSProcess }, []string{"isolation.below_floor at backend"}, `set minimum_isolation = "os_process" where the floor is set: policy "agents"`},
		{"a backend at the floor", func(w world) { w.d.Isolation = sandbox.IsolationContainer }, nil, ""},
		{"nobody states a floor", func(w world) { w.p.MinimumIsolation = 0 }, []string{"isolation.below_floor at backend"}, "the default holds (microvm)"},
		{"the workload raises the floor", func(w world) { w.s.MinimumIsolation = sandbox.IsolationVM }, []string{"isolation.below_floor at backend"}, "the workload (vm)"},
		{"the workload cannot lower the floor", func(w world) {
			w.s.MinimumIsolation = sandbox.IsolationNone
			w.d.Isolation = sandbox.IsolationRuntime
		}, []string{"isolation.below_floor at backend"}, "container"},
		{"documented evidence by default", func(w world) { w.d.IsolationEvidence.Kind = sandbox.EvidenceDocumented }, []string{"isolation.evidence_insufficient at backend"}, "documented"},
		{"documented evidence where the policy accepts it", func(w world) {
			w.d.IsolationEvidence.Kind = sandbox.EvidenceDocumented
			w.p.MinimumEvidence = sandbox.EvidenceDocumented
		}, nil, ""},
		{"emulated evidence never counts", func(w world) {
			w.d.IsolationEvidence.Kind = sandbox.EvidenceEmulated
			w.p.MinimumEvidence = sandbox.EvidenceDocumented
		}, []string{"isolation.evidence_insufficient at backend"}, "emulated"},
		{"a floor of none needs no evidence", func(w world) {
			w.d.IsolationEvidence = sandbox.Evidence{}
			w.p.MinimumIsolation = sandbox.IsolationNone
		}, nil, ""},
		{"a capability the backend lacks", func(w world) {
			c := w.d.Capabilities.Minus(sandbox.SetOf(sandbox.CapabilityFilesOut))
			w.d.Capabilities = &c
		}, []string{"capability.missing at requires"}, "files_out"},
		{"a backend that says nothing of capabilities", func(w world) { w.d.Capabilities = nil }, []string{"capability.missing at requires"}, "files_out"},
		{"an OS family the backend lacks", func(w world) { w.s.OSFamily = sandbox.OSFamilyWindows }, []string{"os_family.not_supported at os_family"}, "windows"},
		{"a profile no channel serves", func(w world) { w.s.ProgramProfile = "python" }, []string{"program.channel_missing at program_profile"}, "python"},
		{"limits over the backend's ceiling", func(w world) {
			w.s.FilesIn = &sandbox.TransferLimits{MaxBytesPerFile: 1, MaxTotalBytes: 1, MaxFiles: 65}
		}, []string{"limits.over_ceiling at files_in_limits"}, "65"},
		{"limits at the policy's ceiling", func(w world) {
			l := sandbox.DefaultTransferLimits()
			w.p.FilesOut = &l
		}, nil, ""},
		{"limits over the policy's ceiling", func(w world) {
			w.p.FilesOut = &sandbox.TransferLimits{MaxBytesPerFile: 1 << 40, MaxTotalBytes: 1 << 40, MaxFiles: 63}
		}, []string{"limits.over_ceiling at files_out_limits"}, `policy "agents"`},
		{"a backend silent about egress", func(w world) { w.d.EgressModes = sandbox.EgressModeSet{} }, []string{"egress.not_enforced at egress_mode"}, "allowlist"},
		{"a closed-only backend for an allowlist", func(w world) { w.d.EgressModes = sandbox.SetOf(sandbox.EgressClosed) }, []string{"egress.not_enforced at egress_mode"}, "closed"},
		{"a closed-only backend under at_least", func(w world) {
			w.d.EgressModes = sandbox.SetOf(sandbox.EgressClosed)
			w.p.EgressMatch = sandbox.EgressMatchAtLeast
		}, nil, ""},
		{"an allowlist-only backend for closed", func(w world) {
			w.s.Egress = sandbox.Egress{}
			w.d.EgressModes = sandbox.SetOf(sandbox.EgressAllowlist)
		}, []string{"egress.not_enforced at egress_mode"}, "closed"},
		{"a host wider than the policy", func(w world) { w.s.Egress.Hosts = []string{"packages.example.org", "*.example.com"} }, []string{"egress.not_within_policy at egress_hosts[1]"}, "*.example.com"},
		{"a host below a wildcard of the policy", func(w world) { w.s.Egress.Hosts = []string{"a.b.files.example.org"} }, nil, ""},
		{"the apex of a wildcard of the policy", func(w world) { w.s.Egress.Hosts = []string{"files.example.org"} }, []string{"egress.not_within_policy at egress_hosts[0]"}, "files.example.org"},
		{"a method wider than the policy", func(w world) {
			w.s.Egress.Rules = map[string]sandbox.EgressRule{"a": {Host: "api.example.com", Ports: []string{"443"}, Methods: []string{"*"}, Paths: []string{"/v1"}}}
		}, []string{`egress.not_within_policy at egress_rules["a"]`}, "api.example.com"},
		{"a path below the policy's", func(w world) {
			w.s.Egress.Rules = map[string]sandbox.EgressRule{"a": {Host: "api.example.com", Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"/v1/users"}}}
		}, nil, ""},
		{"unrestricted under an allowlist policy", func(w world) { w.s.Egress = sandbox.Egress{Mode: sandbox.EgressUnrestricted} }, []string{"egress.not_enforced at egress_mode", "egress.mode_denied at egress_mode"}, "unrestricted"},
		{"an allowlist where no policy opens the network", func(w world) { w.p.Egress = sandbox.Egress{} }, []string{"egress.mode_denied at egress_mode"}, "allowlist"},
		{"what must never be reached", func(w world) {
			w.p.Egress = sandbox.Egress{Mode: sandbox.EgressUnrestricted}
			w.p.NeverReaches = []string{"*.example.org"}
		}, []string{"egress.never_reaches at egress_hosts[0]"}, "packages.example.org"},
		{"a missing guarantee that the policy refuses", func(w world) { delete(w.d.Guarantees, sandbox.GuaranteeUDPDenied) }, []string{"egress.guarantee_missing at egress_mode"}, "udp_denied"},
		{"a missing guarantee that the policy tolerates", func(w world) {
			delete(w.d.Guarantees, sandbox.GuaranteeUDPDenied)
			w.p.MissingGuarantees = sandbox.MissingGuaranteesWarn
		}, nil, ""},
		{"a demanded guarantee with too little evidence", func(w world) {
			w.d.Guarantees[sandbox.GuaranteePathConfined] = sandbox.Evidence{Kind: sandbox.EvidenceDocumented}
			w.s.Egress.Guarantees = sandbox.SetOf(sandbox.GuaranteePathConfined)
		}, []string{"egress.guarantee_missing at egress_guarantees"}, "path_confined"},
		{"a call scope the backend cannot keep", func(w world) { w.p.MinimumIsolationScope = sandbox.ScopeCall }, []string{"scope.not_enforced at isolation_scope"}, "call"},
		{"an image where the backend takes none", func(w world) {
			w.d.ImageSources = sandbox.ImageSourceSet{}
			w.s.Image.Prebuilt = "python-3.13"
		}, []string{"image.not_supported at image.prebuilt"}, "python-3.13"},
		{"no image where the backend takes none", func(w world) { w.d.ImageSources = sandbox.ImageSourceSet{} }, nil, ""},
		{"a reference where the backend has a catalogue only", func(w world) {
			w.d.ImageSources = sandbox.SetOf(sandbox.ImageSourcePrebuilt)
			w.s.Image.Reference = "registry.example.com/a:1"
		}, []string{"image.not_supported at image.reference"}, "registry.example.com"},
		{"a prebuilt image the policy denies", func(w world) {
			w.p.Images.Prebuilt = sandbox.PrebuiltDeny
			w.s.Image.Prebuilt = "python-3.13"
		}, []string{"image.prebuilt_denied at image.prebuilt"}, "python-3.13"},
		{"an image from elsewhere", func(w world) {
			w.p.Images.Registries = []string{"registry.example.com"}
			w.s.Image.Reference = "other.example.com/a:1"
		}, []string{"image.registry_denied at image.reference"}, "other.example.com"},
		{"an image without a digest", func(w world) {
			w.p.Images.RequireDigest = true
			w.s.Image.Reference = "registry.example.com/a:1"
		}, []string{"image.digest_required at image.digest"}, "registry.example.com"},
		{"a non-root image where files are root's", func(w world) {
			w.d.WriteAuthority = sandbox.WriteAuthorityRoot
			w.s.Image = sandbox.Image{Reference: "registry.example.com/a:1", User: "1654"}
		}, []string{"image.user_unfit at image.user"}, "uid 1654"},
		{"a root image where files are root's", func(w world) {
			w.d.WriteAuthority = sandbox.WriteAuthorityRoot
			w.s.Image = sandbox.Image{Reference: "registry.example.com/a:1", User: "+0"}
		}, nil, ""},
		{"a root image where the policy wants another user", func(w world) {
			w.p.Images.User = sandbox.ImageUserNonRoot
			w.s.Image = sandbox.Image{Reference: "registry.example.com/a:1", User: "00:1"}
		}, []string{"image.user_denied at image.user"}, "root"},
		{"several at once, in order", func(w world) {
			w.p.DeniedCapabilities = sandbox.SetOf(sandbox.CapabilityExec)
			w.d.Isolation = sandbox.IsolationRuntime
			w.d.EgressModes = sandbox.EgressModeSet{}
			w.s.OSFamily = sandbox.OSFamilyWindows
		}, []string{
			"capability.denied at requires", "isolation.below_floor at backend",
			"os_family.not_supported at os_family", "egress.not_enforced at egress_mode",
		}, "exec"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, s, d := fits()
			row.change(world{&p, &s, &d})
			got := decide(t, p, s, d)
			var denials []string
			text := ""
			for _, f := range got.Findings {
				if f.Verdict == sandbox.Deny {
					denials = append(denials, f.Locator())
					text += f.Found + " | " + f.Required + " | " + f.Remedy + "\n"
					if f.Found == "" || f.Required == "" || f.Remedy == "" {
						t.Errorf("%s leaves found, required or remedy empty: %+v", f.Locator(), f)
					}
				}
			}
			if !slices.Equal(denials, row.want) {
				t.Errorf("denied by %q, want %q\n%s", denials, row.want, text)
			}
			if !strings.Contains(text, row.says) {
				t.Errorf("findings do not say %q:\n%s", row.says, text)
			}
			if want := len(row.want) == 0; (got.Verdict == sandbox.Allow) != want {
				t.Errorf("verdict %s", got.Verdict)
			}
		})
	}
}

func TestANilSideIsADenial(t *testing.T) {
	t.Parallel()
	if d := policy.Decide(nil, nil, nil); d.Verdict != sandbox.Deny || d.Err() == nil {
		t.Errorf("a decision about nothing is %s", d.Verdict)
	}
}

func TestEveryCheckHasAName(t *testing.T) {
	t.Parallel()
	names := policy.CheckNames()
	if slices.Contains(names, "") || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("names are empty or stand twice: %q", names)
	}
}

func TestARuleThatCanNeverTakeEffectIsRefused(t *testing.T) {
	t.Parallel()
	for host, refused := range map[string]bool{
		"169.254.169.254": true, "127.0.0.1": true, "127.0.0.0/16": true, "localhost": true, "fe80::/64": true,
		"10.0.0.0/8": false, "192.0.2.7": false, "packages.example.org": false,
	} {
		_, s, _ := fits()
		s.Egress.Hosts = []string{host}
		_, findings := policy.CompileSpec(s, sandbox.Known{})
		got := len(findings) == 1 && findings[0].Locator() == "egress.always_blocked at egress_hosts[0]"
		if got != refused {
			t.Errorf("%s: %v", host, findings)
		}
	}
	_, findings := policy.CompilePolicy(policy.Layer{Policy: sandbox.Policy{NeverReaches: []string{"169.254.0.0/16"}}})
	requireNone(t, findings)
}
