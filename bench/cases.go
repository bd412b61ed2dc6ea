package main

import (
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	caseCount   = 1000
	policyCount = 8
	policyRules = 100
	askedRules  = 10
)

// decisionCase is one question: may this workload run on that backend under that
// policy. Policies and backends are shared between cases, as they are in life.
type decisionCase struct {
	policy, backend int // indices into corpus
	spec            sandbox.Spec
	refusal         *refusalKind // nil where the answer is allow
}

// corpus is the whole input of the decisions.
type corpus struct {
	policies []sandbox.Policy
	backends []sandbox.Declarations
	cases    []decisionCase
}

// refusalKind is one way in which an allowed case is made a refused one.
type refusalKind struct {
	codes []sandbox.Code // every code of the decision, in order
	// reference says whether the reference package asks this question per check.
	// It knows no policy ceilings, no guarantees and no bound for egress, and it
	// judges the host's own floor when its router is made.
	reference bool
	apply     func(c *decisionCase, p int)
}

const (
	backendAll = iota
	backendClosedOnly
	backendSpoofable // without sni_bound
)

// The strict twin of policy p, with floor vm, stands at p + policyCount.
func refusalKinds() []refusalKind {
	rule := func(edit func(c *decisionCase, p int)) refusalKind {
		return refusalKind{codes: []sandbox.Code{sandbox.CodeEgressNotWithinPolicy}, apply: edit}
	}
	asks := func(code sandbox.Code, edit func(c *decisionCase, p int)) refusalKind {
		return refusalKind{codes: []sandbox.Code{code}, reference: true, apply: edit}
	}
	ownOnly := func(code sandbox.Code, edit func(c *decisionCase, p int)) refusalKind {
		return refusalKind{codes: []sandbox.Code{code}, apply: edit}
	}
	require := func(c *decisionCase, more sandbox.Capability) {
		set := c.spec.Requires.With(more)
		c.spec.Requires = &set
	}
	return []refusalKind{
		asks(sandbox.CodeCapabilityDenied, func(c *decisionCase, _ int) { require(c, sandbox.CapabilitySnapshot) }),
		asks(sandbox.CodeIdentityDenied, func(c *decisionCase, _ int) {
			require(c, sandbox.CapabilityHostTools)
			c.spec.Identities = sandbox.SetOf(sandbox.IdentityApp)
		}),
		asks(sandbox.CodeIsolationBelowFloor, func(c *decisionCase, _ int) { c.spec.MinimumIsolation = sandbox.IsolationMicroVM }),
		ownOnly(sandbox.CodeIsolationBelowFloor, func(c *decisionCase, p int) { c.policy = p + policyCount }),
		asks(sandbox.CodeCapabilityMissing, func(c *decisionCase, _ int) { require(c, sandbox.CapabilityFilesDelete) }),
		asks(sandbox.CodeOSFamilyUnsupported, func(c *decisionCase, _ int) { c.spec.OSFamily = sandbox.OSFamilyWindows }),
		asks(sandbox.CodeLimitsOverCeiling, func(c *decisionCase, _ int) { c.spec.FilesIn = limits(32) }),
		ownOnly(sandbox.CodeLimitsOverCeiling, func(c *decisionCase, _ int) { c.spec.FilesOut = limits(12) }),
		asks(sandbox.CodeEgressNotEnforced, func(c *decisionCase, _ int) { c.backend = backendClosedOnly }),
		ownOnly(sandbox.CodeEgressGuarantee, func(c *decisionCase, _ int) { c.backend = backendSpoofable }),
		asks(sandbox.CodeScopeNotEnforced, func(c *decisionCase, _ int) { c.spec.IsolationScope = sandbox.ScopeCall }),
		rule(func(c *decisionCase, _ int) { c.spec.Egress.Hosts[0] = "evil.example.net" }),
		rule(func(c *decisionCase, p int) {
			c.spec.Egress.Hosts[0] = fmt.Sprintf("*.zone.p%d.example.org", p)
		}),
		rule(func(c *decisionCase, _ int) { editRule(c, func(r *sandbox.EgressRule) { r.Ports = []string{"8443"} }) }),
		rule(func(c *decisionCase, _ int) {
			editRule(c, func(r *sandbox.EgressRule) { r.Methods = []string{"DELETE"} })
		}),
		rule(func(c *decisionCase, _ int) { editRule(c, func(r *sandbox.EgressRule) { r.Paths = []string{"/v10"} }) }),
		{
			codes:     []sandbox.Code{sandbox.CodeCapabilityDenied, sandbox.CodeEgressNotWithinPolicy},
			reference: true,
			apply: func(c *decisionCase, _ int) {
				require(c, sandbox.CapabilitySnapshot)
				c.spec.Egress.Hosts[0] = "evil.example.net"
			},
		},
	}
}

func editRule(c *decisionCase, edit func(*sandbox.EgressRule)) {
	r := c.spec.Egress.Rules["api0"]
	edit(&r)
	c.spec.Egress.Rules["api0"] = r
}

// newCorpus makes the cases: every other one allowed, the rest refused in every
// way in turn. It is the same on every run.
func newCorpus() *corpus {
	c := &corpus{backends: backends()}
	for p := range policyCount {
		c.policies = append(c.policies, newPolicy(p))
	}
	for p := range policyCount {
		strict := newPolicy(p)
		strict.MinimumIsolation = sandbox.IsolationVM
		c.policies = append(c.policies, strict)
	}
	kinds := refusalKinds()
	for i := range caseCount {
		p := i % policyCount
		next := decisionCase{policy: p, backend: backendAll, spec: newSpec(p, i)}
		if i%2 == 1 {
			next.refusal = &kinds[i/2%len(kinds)]
			next.refusal.apply(&next, p)
		}
		c.cases = append(c.cases, next)
	}
	return c
}

// ruleOf is the i-th rule of policy p. No two rules of a policy cover the same
// host, so that holding rules against each other one by one, which is what the
// peers can be made to do, gives the right answer.
func ruleOf(p, i int) sandbox.EgressRule {
	r := sandbox.EgressRule{Ports: []string{"443"}, Methods: []string{"*"}, Paths: []string{"*"}}
	switch i % 5 {
	case 3:
		r.Host = fmt.Sprintf("*.w%d.p%d.example.org", i, p)
	case 4:
		r.Host = fmt.Sprintf("api%d.p%d.example.com", i, p)
		r.Ports = []string{"443", "8000-8099"}
		r.Methods, r.Paths = []string{"GET", "HEAD"}, []string{"/v1", "/v2/items"}
	default:
		r.Host = fmt.Sprintf("h%d.zone.p%d.example.org", i, p)
	}
	return r
}

// askFor narrows the i-th rule of policy p, in one of a few ways.
func askFor(p, i, way int) sandbox.EgressRule {
	r := ruleOf(p, i)
	switch i % 5 {
	case 3:
		below := []string{"*", "a", "a.b"}[way%3]
		r.Host = below + r.Host[1:]
	case 4:
		r.Ports = []string{[]string{"443", "8000-8010", "8099"}[way%3]}
		r.Methods = [][]string{{"GET"}, {"GET", "HEAD"}}[way%2]
		r.Paths = []string{[]string{"/v1", "/v1/models", "/v2/items/7"}[way%3]}
	}
	return r
}

// add puts a rule into its short or its long form.
func add(e *sandbox.Egress, name string, r sandbox.EgressRule) {
	if r.Methods[0] == "*" {
		e.Hosts = append(e.Hosts, r.Host)
		return
	}
	e.Rules[name] = r
}

func allowlist() sandbox.Egress {
	return sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{}}
}

func newPolicy(p int) sandbox.Policy {
	e := allowlist()
	for i := range policyRules {
		add(&e, fmt.Sprintf("api%d", i), ruleOf(p, i))
	}
	e.Guarantees = sandbox.SetOf(sandbox.GuaranteeSNIBound, sandbox.GuaranteeUDPDenied)
	return sandbox.Policy{
		Name: fmt.Sprintf("policy %d", p), MinimumIsolation: sandbox.IsolationContainer,
		DeniedCapabilities: sandbox.SetOf(sandbox.CapabilitySnapshot),
		DeniedIdentities:   sandbox.SetOf(sandbox.IdentityApp),
		Egress:             e,
		FilesIn:            limits(64), FilesOut: limits(8),
	}
}

// newSpec asks for two rules of the long form and eight of the short one.
func newSpec(p, n int) sandbox.Spec {
	e := allowlist()
	apis := 0
	for k := range askedRules {
		i := (n*7 + k*13) % policyRules
		if k%5 == 4 {
			i = i/5*5 + 4
		} else if i%5 == 4 {
			i--
		}
		name := fmt.Sprintf("api%d", apis)
		if k%5 == 4 {
			apis++
		}
		add(&e, name, askFor(p, i, n+k))
	}
	requires := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut)
	return sandbox.Spec{Kind: "codeact", Backend: "bench", Requires: &requires, Egress: e, FilesIn: limits(4), FilesOut: limits(4)}
}

// limits are that many MiB a file, four times as many in all, 64 files.
func limits(mib int64) *sandbox.TransferLimits {
	return &sandbox.TransferLimits{MaxBytesPerFile: mib << 20, MaxTotalBytes: mib << 22, MaxFiles: 64}
}

func backends() []sandbox.Declarations {
	probed := sandbox.Evidence{Kind: sandbox.EvidenceProbed, Reference: "bench"}
	capabilities := sandbox.SetOf(sandbox.Capabilities()...).
		Minus(sandbox.SetOf(sandbox.CapabilityAttachedIdentity, sandbox.CapabilityFilesDelete))
	all := func() sandbox.Declarations {
		guarantees := map[sandbox.Guarantee]sandbox.Evidence{}
		for _, g := range sandbox.Guarantees() {
			guarantees[g] = probed
		}
		return sandbox.Declarations{
			Backend: "bench", Isolation: sandbox.IsolationHardenedContainer, IsolationEvidence: probed,
			Capabilities: &capabilities, FilesIn: limits(16), FilesOut: limits(16),
			EgressModes: sandbox.SetOf(sandbox.EgressAllowlist, sandbox.EgressClosed), Guarantees: guarantees,
			OSFamilies:      sandbox.SetOf(sandbox.OSFamilyPOSIX),
			IsolationScopes: sandbox.SetOf(sandbox.ScopeConversation),
		}
	}
	closedOnly, spoofable := all(), all()
	closedOnly.EgressModes = sandbox.SetOf(sandbox.EgressClosed)
	delete(spoofable.Guarantees, sandbox.GuaranteeSNIBound)
	return []sandbox.Declarations{backendAll: all(), backendClosedOnly: closedOnly, backendSpoofable: spoofable}
}
