package policy_test

import (
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// A refusal about what a backend is names the backend, and one about egress
// names the hosts: whoever reads it has several of both.
func TestARefusalNamesTheBackendItIsAbout(t *testing.T) {
	t.Parallel()
	const name = "backend-7"
	attach := func(s *sandbox.Spec, d *sandbox.Declarations) {
		caps := d.Capabilities.With(sandbox.CapabilityAttachedIdentity)
		requires := s.Requires.With(sandbox.CapabilityAttachedIdentity)
		d.Capabilities, s.Requires = &caps, &requires
		d.AttachedIdentity = attachedFor(60)
		s.MaximumIdentityScope, s.IdentityRetentionSeconds = sandbox.IdentityScopePerScope, 60
	}
	for about, change := range map[string]func(*sandbox.Policy, *sandbox.Spec, *sandbox.Declarations){
		"identity over the policy's bound": func(p *sandbox.Policy, s *sandbox.Spec, d *sandbox.Declarations) {
			attach(s, d)
			p.MaximumIdentityScope = sandbox.IdentityScopePerSandbox
		},
		"identity over the workload's bound": func(p *sandbox.Policy, s *sandbox.Spec, d *sandbox.Declarations) {
			attach(s, d)
			p.MaximumIdentityScope = sandbox.IdentityScopeShared
			s.MaximumIdentityScope = sandbox.IdentityScopePerSandbox
		},
		"identity kept too long": func(p *sandbox.Policy, s *sandbox.Spec, d *sandbox.Declarations) {
			attach(s, d)
			p.MaximumIdentityScope = sandbox.IdentityScopeShared
			s.IdentityRetentionSeconds = 59
		},
		"identity nobody required": func(p *sandbox.Policy, s *sandbox.Spec, d *sandbox.Declarations) {
			caps := d.Capabilities.With(sandbox.CapabilityAttachedIdentity)
			d.Capabilities = &caps
			d.AttachedIdentity = attachedFor(60)
			p.MaximumIdentityScope = sandbox.IdentityScopeShared
		},
		"floor": func(p *sandbox.Policy, _ *sandbox.Spec, _ *sandbox.Declarations) {
			p.MinimumIsolation = sandbox.IsolationVM
		},
		"evidence": func(_ *sandbox.Policy, _ *sandbox.Spec, d *sandbox.Declarations) {
			d.IsolationEvidence.Kind = sandbox.EvidenceEmulated
		},
		"capability": func(_ *sandbox.Policy, _ *sandbox.Spec, d *sandbox.Declarations) {
			caps := sandbox.SetOf(sandbox.CapabilityExec)
			d.Capabilities = &caps
		},
		"OS family": func(_ *sandbox.Policy, s *sandbox.Spec, _ *sandbox.Declarations) {
			s.OSFamily = sandbox.OSFamilyWindows
		},
		"program channel": func(_ *sandbox.Policy, s *sandbox.Spec, _ *sandbox.Declarations) {
			s.ProgramProfile = "python-portable-v1"
		},
		"limits": func(_ *sandbox.Policy, s *sandbox.Spec, _ *sandbox.Declarations) {
			s.FilesIn = &sandbox.TransferLimits{MaxFiles: 1 << 20}
		},
		"egress mode": func(_ *sandbox.Policy, _ *sandbox.Spec, d *sandbox.Declarations) {
			d.EgressModes = sandbox.SetOf(sandbox.EgressClosed)
		},
		"guarantee": func(_ *sandbox.Policy, _ *sandbox.Spec, d *sandbox.Declarations) {
			d.Guarantees = nil
		},
		"scope": func(p *sandbox.Policy, _ *sandbox.Spec, _ *sandbox.Declarations) {
			p.MinimumIsolationScope = sandbox.ScopeCall
		},
	} {
		p, s, d := fits()
		d.Backend = name
		change(&p, &s, &d)
		decision := decide(t, p, s, d)
		if decision.Verdict != sandbox.Deny {
			t.Errorf("%s: %s", about, decision.Verdict)
		}
		for _, f := range decision.Findings {
			if !strings.Contains(f.Found+f.Required, name) {
				t.Errorf("%s: %q, required %q, do not name the backend", about, f.Found, f.Required)
			}
		}
	}
}

func TestWhatIsSaidOfTheEgressModeNamesTheHosts(t *testing.T) {
	t.Parallel()
	for _, match := range []sandbox.EgressMatch{sandbox.EgressMatchExact, sandbox.EgressMatchAtLeast} {
		p, s, d := fits()
		p.EgressMatch = match
		s.Egress.Hosts = []string{"packages.example.org", "a.files.example.org"}
		d.EgressModes = sandbox.SetOf(sandbox.EgressClosed)
		decision := decide(t, p, s, d)
		if want := match == sandbox.EgressMatchAtLeast; (decision.Verdict == sandbox.Allow) != want {
			t.Errorf("%s: %s", match, decision.Verdict)
		}
		for _, f := range decision.Findings {
			for _, host := range s.Egress.Hosts {
				if !strings.Contains(f.Found, host) {
					t.Errorf("%s: %q does not name %s", match, f.Found, host)
				}
			}
		}
	}
}

func TestHostsThatTheModeIgnoresAreNamed(t *testing.T) {
	t.Parallel()
	for _, mode := range []sandbox.EgressMode{sandbox.EgressUnspecified, sandbox.EgressClosed, sandbox.EgressUnrestricted} {
		_, s, _ := fits()
		s.Egress.Mode, s.Egress.Hosts = mode, []string{"packages.example.org", "a.files.example.org"}
		_, findings := policy.CompileSpec(s, sandbox.Known{})
		if len(findings) != 1 || findings[0].Code != sandbox.CodeEgressHostsWithoutAllowlist {
			t.Fatalf("%s: %v", mode, findings)
		}
		for _, host := range s.Egress.Hosts {
			if !strings.Contains(findings[0].Found, host) {
				t.Errorf("%s: %q does not name %s", mode, findings[0].Found, host)
			}
		}
	}
}
