package policy_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// offering is a backend of that name on that rung, with guarantees of one kind of
// evidence.
func offering(name string, rung sandbox.Isolation, kind sandbox.EvidenceKind, given ...sandbox.Guarantee) sandbox.Declarations {
	d := sandbox.Declarations{
		Backend: name, Isolation: rung, IsolationEvidence: sandbox.Evidence{Kind: kind, Reference: "a test"},
		EgressModes: sandbox.SetOf(sandbox.EgressClosed), Guarantees: map[sandbox.Guarantee]sandbox.Evidence{},
	}
	for _, g := range given {
		d.Guarantees[g] = sandbox.Evidence{Kind: kind, Reference: "a test"}
	}
	return d
}

func TestRefusalsNameTheBackendsThatWouldDo(t *testing.T) {
	t.Parallel()
	dns, udp := sandbox.GuaranteeDNSConfined, sandbox.GuaranteeUDPDenied
	here := offering("here", sandbox.IsolationContainer, sandbox.EvidenceDocumented, udp)
	strict := sandbox.Policy{
		MinimumIsolation: sandbox.IsolationContainer,
		Egress:           sandbox.Egress{Mode: sandbox.EgressClosed, Guarantees: sandbox.SetOf(dns, udp)},
	}
	weak := func(p sandbox.Policy) sandbox.Policy { p.MinimumEvidence = sandbox.EvidenceDocumented; return p }
	open := offering("open", sandbox.IsolationVM, sandbox.EvidenceProbed, dns, udp)
	open.EgressModes = sandbox.SetOf(sandbox.EgressUnrestricted)
	for name, row := range map[string]struct {
		policy sandbox.Policy
		others []sandbox.Declarations
		code   sandbox.Code
		found  string
		remedy string
	}{
		"nobody is known": {
			strict, nil, sandbox.CodeEgressGuarantee, "missing: dns_confined, udp_denied (documented only)",
			"choose a backend that gives them, or stop demanding them",
		},
		"one gives all": {
			weak(strict),
			[]sandbox.Declarations{here, offering("b", sandbox.IsolationVM, sandbox.EvidenceDocumented, dns, udp), offering("a", sandbox.IsolationVM, sandbox.EvidenceProbed, dns)},
			sandbox.CodeEgressGuarantee, "missing: dns_confined",
			"choose a backend that gives them, or stop demanding them. Backends that give them: a (probed), b (documented)",
		},
		"each gives a part": {
			strict,
			[]sandbox.Declarations{offering("a", sandbox.IsolationVM, sandbox.EvidenceProbed, dns), offering("b", sandbox.IsolationVM, sandbox.EvidenceDocumented, udp)},
			sandbox.CodeEgressGuarantee, "missing: dns_confined, udp_denied (documented only)",
			"choose a backend that gives them, or stop demanding them. No other known backend that enforces closed gives all of them: " +
				"dns_confined is given by a (probed); udp_denied is given by none with probed evidence, with less by b (documented)",
		},
		"under another mode": {
			strict,
			[]sandbox.Declarations{open},
			sandbox.CodeEgressGuarantee, "missing: dns_confined, udp_denied (documented only)",
			"choose a backend that gives them, or stop demanding them. No other known backend that enforces closed gives all of them: " +
				"dns_confined is given by none; udp_denied is given by none",
		},
		"a stronger rung": {
			weak(sandbox.Policy{MinimumIsolation: sandbox.IsolationVM}),
			[]sandbox.Declarations{offering("a", sandbox.IsolationVM, sandbox.EvidenceProbed), offering("b", sandbox.IsolationMicroVM, sandbox.EvidenceProbed)},
			sandbox.CodeIsolationBelowFloor, "here provides container, documented (a test)",
			`choose a stronger backend, or set minimum_isolation = "container" where the floor is set: the policy. Backends that are strong enough: a (vm, probed)`,
		},
		"a stronger rung with less evidence": {
			sandbox.Policy{MinimumIsolation: sandbox.IsolationVM},
			[]sandbox.Declarations{offering("a", sandbox.IsolationVM, sandbox.EvidenceDocumented)},
			sandbox.CodeIsolationBelowFloor, "here provides container, documented (a test)",
			`choose a stronger backend, or set minimum_isolation = "container" where the floor is set: the policy. No other known backend is strong enough with probed evidence; with less: a (vm, documented)`,
		},
		"more evidence": {
			sandbox.Policy{MinimumIsolation: sandbox.IsolationContainer},
			[]sandbox.Declarations{offering("a", sandbox.IsolationContainer, sandbox.EvidenceProbed)},
			sandbox.CodeIsolationEvidence, "here's container is documented (a test)",
			`set minimum_evidence = "documented" in the policy, or give probed facts in backend_facts. Backends that are strong enough: a (container, probed)`,
		},
		"no more evidence": {
			sandbox.Policy{MinimumIsolation: sandbox.IsolationContainer},
			[]sandbox.Declarations{offering("a", sandbox.IsolationRuntime, sandbox.EvidenceProbed)},
			sandbox.CodeIsolationEvidence, "here's container is documented (a test)",
			`set minimum_evidence = "documented" in the policy, or give probed facts in backend_facts. No other known backend is strong enough`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := policy.CompilePolicy(policy.Layer{Source: "the policy", Policy: row.policy})
			b, _ := policy.CompileDeclarations(here)
			s, _ := policy.CompileSpec(sandbox.Spec{Kind: "k", Backend: "here", Requires: &sandbox.CapabilitySet{}}, sandbox.Known{})
			if row.others != nil {
				b = b.Beside(func() []sandbox.Declarations { return row.others })
			}
			d := policy.Decide(p, b, s)
			i := slices.IndexFunc(d.Findings, func(f sandbox.Finding) bool { return f.Code == row.code && f.Verdict == sandbox.Deny })
			if i < 0 {
				t.Fatalf("no %s: %+v", row.code, d.Findings)
			}
			if f := d.Findings[i]; f.Found != row.found || f.Remedy != row.remedy {
				t.Errorf("found %q\nremedy %q", f.Found, f.Remedy)
			}
		})
	}
}

// What egress rules ask for stands nowhere in requires, so that no edit of
// requires takes it away.
func TestAMissingCapabilityIsTakenAwayWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	some := func(name string, mode sandbox.EgressMode, capabilities ...sandbox.Capability) sandbox.Declarations {
		d := offering(name, sandbox.IsolationVM, sandbox.EvidenceProbed)
		set := sandbox.SetOf(capabilities...)
		d.Capabilities, d.EgressModes = &set, sandbox.SetOf(mode)
		return d
	}
	exec, methods, run := sandbox.CapabilityExec, sandbox.CapabilityEgressMethods, sandbox.CapabilityRunCode
	paths := sandbox.CapabilityEgressPaths
	others := []sandbox.Declarations{
		some("all", sandbox.EgressAllowlist, exec, run, methods, paths),
		some("shut", sandbox.EgressClosed, exec, run, methods, paths),
		some("less", sandbox.EgressAllowlist, exec, run, methods),
	}
	rule := sandbox.EgressRule{Host: "a.example", Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"/v1"}}
	for name, row := range map[string]struct {
		here   []sandbox.Capability
		others []sandbox.Declarations
		denied []sandbox.Capability
		remedy string
	}{
		"stated": {
			[]sandbox.Capability{methods, paths, run},
			nil, nil,
			"take exec out of what the workload requires, or choose another backend",
		},
		"asked for by rules": {
			[]sandbox.Capability{exec, run},
			others, nil,
			"write egress rules that need no egress_methods and no egress_paths, or choose another backend. Backends that offer all it requires: all",
		},
		"both": {
			[]sandbox.Capability{run, methods},
			others[1:], nil,
			"take exec out of what the workload requires and write egress rules that need no egress_paths, or choose another backend. " +
				"No other known backend that enforces allowlist offers all it requires",
		},
		"denied": {
			[]sandbox.Capability{exec, run, methods, paths},
			nil,
			[]sandbox.Capability{exec, methods},
			"take exec out of what the workload requires and write egress rules that need no egress_methods",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := policy.CompilePolicy(policy.Layer{Source: "the policy", Policy: sandbox.Policy{
				DeniedCapabilities: sandbox.SetOf(row.denied...),
				Egress:             sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"a.example"}},
			}})
			b, _ := policy.CompileDeclarations(some("here", sandbox.EgressAllowlist, row.here...))
			requires := sandbox.SetOf(exec, run)
			s, _ := policy.CompileSpec(sandbox.Spec{
				Kind: "k", Backend: "here", Requires: &requires,
				Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{"a": rule}},
			}, sandbox.Known{})
			if row.others != nil {
				b = b.Beside(func() []sandbox.Declarations { return row.others })
			}
			for _, f := range policy.Decide(p, b, s).Findings {
				if f.Path.String() == "requires" && f.Remedy == row.remedy {
					return
				}
			}
			t.Errorf("%+v", policy.Decide(p, b, s).Findings)
		})
	}
}

// Knowing of other backends changes no answer, and where it is allowed without a
// word nobody is even asked.
func TestOtherBackendsChangeNothingButRemedies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, s, d, other := drawPolicy(t), drawSpec(t), drawDeclarations(t), drawDeclarations(t)
		cp, cs, cd, sound := compiled(t, p, sandbox.Known{}, s, sandbox.Known{}, d)
		if !sound {
			t.Skip("not a sound world")
		}
		asked := false
		beside := cd.Beside(func() []sandbox.Declarations { asked = true; return []sandbox.Declarations{other} })
		alone, among := policy.Decide(cp, cd, cs), policy.Decide(cp, beside, cs)
		if alone.Verdict == sandbox.Allow && asked {
			t.Fatal("asked for other backends without a refusal")
		}
		for i := range alone.Findings {
			if !strings.HasPrefix(among.Findings[i].Remedy, alone.Findings[i].Remedy) {
				t.Fatalf("another remedy: %q", among.Findings[i].Remedy)
			}
			among.Findings[i].Remedy = alone.Findings[i].Remedy
			if among.Findings[i].Locator() != alone.Findings[i].Locator() || among.Findings[i].Found != alone.Findings[i].Found {
				t.Fatalf("%+v", among.Findings[i])
			}
		}
		if alone.Verdict != among.Verdict || len(alone.Findings) != len(among.Findings) {
			t.Fatalf("%v became %v", alone, among)
		}
	})
}
