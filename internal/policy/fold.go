package policy

import (
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Strictest folds two policies into one that admits what both of them admit, for
// places that hold a single one. Both must compile. A finding says that no image
// could meet both, or that their egress rules are too many and too entangled to be
// joined, in which case the fold is closed; nothing else can conflict.
func Strictest(a, b sandbox.Policy) (sandbox.Policy, []sandbox.Finding) {
	joined, findings := strictestEgress(a.Egress, b.Egress)
	p := sandbox.Policy{
		Name:                  a.Name,
		MinimumIsolation:      sandbox.Strongest(a.MinimumIsolation, b.MinimumIsolation),
		MinimumEvidence:       sandbox.Strongest(a.MinimumEvidence, b.MinimumEvidence),
		MinimumIsolationScope: sandbox.Strongest(a.MinimumIsolationScope, b.MinimumIsolationScope),
		MinimumCleanup:        sandbox.Strongest(a.MinimumCleanup, b.MinimumCleanup),
		DeniedCapabilities:    a.DeniedCapabilities.Union(b.DeniedCapabilities),
		DeniedIdentities:      a.DeniedIdentities.Union(b.DeniedIdentities),
		MaximumIdentityScope:  leastStated(a.MaximumIdentityScope, b.MaximumIdentityScope),
		Egress:                joined,
		EgressMatch:           leastStated(a.EgressMatch, b.EgressMatch),
		MissingGuarantees:     max(a.MissingGuarantees, b.MissingGuarantees),
		NeverReaches:          union(a.NeverReaches, b.NeverReaches),
		FilesIn:               strictestLimits(a.FilesIn, b.FilesIn),
		FilesOut:              strictestLimits(a.FilesOut, b.FilesOut),
		Images: sandbox.ImagePolicy{
			Registries:    strictestRegistries(a.Images.Registries, b.Images.Registries),
			RequireDigest: a.Images.RequireDigest || b.Images.RequireDigest,
			Prebuilt:      leastStated(a.Images.Prebuilt, b.Images.Prebuilt),
			User:          max(a.Images.User, b.Images.User),
		},
	}
	if p.Name == "" {
		p.Name = b.Name
	}
	if x, y := a.Images.User, b.Images.User; x != y && min(x, y) > sandbox.ImageUserAny {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeContradiction, Path: at("image_user"), Found: x.String() + " and " + y.String(),
			Required: "one that an image can meet", Remedy: "let only one of the two policies state it",
		})
	}
	return p, findings
}

// leastStated is the smaller of two words whose smaller one is the stricter, a
// zero being no opinion.
func leastStated[T ~uint8](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// strictestLimits is the smaller of each limit; nil is no opinion.
func strictestLimits(a, b *sandbox.TransferLimits) *sandbox.TransferLimits {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	return &sandbox.TransferLimits{
		MaxBytesPerFile: min(a.MaxBytesPerFile, b.MaxBytesPerFile),
		MaxTotalBytes:   min(a.MaxTotalBytes, b.MaxTotalBytes),
		MaxFiles:        min(a.MaxFiles, b.MaxFiles),
	}
}

func strictestRegistries(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	listed := make(map[string]bool, len(b))
	for _, registry := range b {
		listed[registry] = true
	}
	both := []string{}
	for _, registry := range a {
		if listed[registry] {
			both = append(both, registry)
		}
	}
	return both
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	listed := make(map[string]bool, len(a))
	for _, text := range a {
		listed[text] = true
	}
	for _, text := range b {
		if !listed[text] {
			listed[text] = true
			all = append(all, text)
		}
	}
	return all
}

// strictestEgress takes the narrower mode and, under two allowlists, what both of
// them admit.
func strictestEgress(a, b sandbox.Egress) (sandbox.Egress, []sandbox.Finding) {
	demanded := a.Guarantees.Union(b.Guarantees)
	switch {
	case a.Mode == sandbox.EgressUnspecified, b.Mode != sandbox.EgressUnspecified && b.Mode < a.Mode:
		b.Guarantees = demanded
		return b, nil
	case b.Mode == sandbox.EgressUnspecified, a.Mode < b.Mode:
		a.Guarantees = demanded
		return a, nil
	case a.Mode != sandbox.EgressAllowlist:
		return sandbox.Egress{Mode: a.Mode, Guarantees: demanded}, nil
	}
	both, err := egress.NewSet(egressRules(a)).Intersect(egress.NewSet(egressRules(b)))
	if err != nil {
		return sandbox.Egress{Mode: sandbox.EgressClosed, Guarantees: demanded}, []sandbox.Finding{{
			Code: sandbox.CodeEgressTooComplex, Path: at("egress_rules"),
			Found:    listRules(egressRules(a)) + " and " + listRules(egressRules(b)),
			Required: "two allowlists whose rules can be joined: fewer of one host, or more alike",
			Remedy:   "join rules of one host that differ in ports, methods or paths",
		}}
	}
	e := stated(both)
	e.Guarantees = demanded
	return e, nil
}

// maxRuleKey is how long the key of a rule may be in a document.
const maxRuleKey = 256

// stated writes a set as an allowlist: in the short form where that says the same,
// and else as a rule under a key that says what it is. Nothing is closed.
func stated(s *egress.Set) sandbox.Egress {
	if s.Empty() {
		return sandbox.Egress{Mode: sandbox.EgressClosed}
	}
	e := sandbox.Egress{Mode: sandbox.EgressAllowlist}
	for i, rule := range s.Rules() {
		if !rule.HasPorts() && !rule.HasMethods() && !rule.HasPaths() {
			e.Hosts = append(e.Hosts, rule.Host().String())
			continue
		}
		if e.Rules == nil {
			e.Rules = make(map[string]sandbox.EgressRule)
		}
		key := rule.String()
		if len(key) > maxRuleKey {
			key = "rule " + strconv.Itoa(i)
		}
		e.Rules[key] = rule.Normal()
	}
	slices.Sort(e.Hosts)
	return e
}

// egressRules parses the hosts and rules of a policy that compiled before, so
// that nothing here can fail.
func egressRules(e sandbox.Egress) []egress.Rule {
	var rules []egress.Rule
	for _, host := range e.Hosts {
		if rule, problems := egress.ParseShort(host, nil); len(problems) == 0 {
			rules = append(rules, rule)
		}
	}
	for _, name := range sortedKeys(e.Rules) {
		if rule, problems := egress.ParseRule(name, e.Rules[name], nil); len(problems) == 0 {
			rules = append(rules, rule)
		}
	}
	return rules
}
