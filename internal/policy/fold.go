package policy

import (
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Strictest folds two policies into one that admits nothing that either refuses,
// for places that hold a single one. It is exact but for egress rules that
// overlap without one lying within the other: neither is kept, so the fold is
// then stricter than both. Both must compile. A finding says that no image could
// meet both; nothing else can conflict.
func Strictest(a, b sandbox.Policy) (sandbox.Policy, []sandbox.Finding) {
	p := sandbox.Policy{
		Name:                  a.Name,
		MinimumIsolation:      sandbox.Strongest(a.MinimumIsolation, b.MinimumIsolation),
		MinimumEvidence:       sandbox.Strongest(a.MinimumEvidence, b.MinimumEvidence),
		MinimumIsolationScope: sandbox.Strongest(a.MinimumIsolationScope, b.MinimumIsolationScope),
		MinimumCleanup:        sandbox.Strongest(a.MinimumCleanup, b.MinimumCleanup),
		DeniedCapabilities:    a.DeniedCapabilities.Union(b.DeniedCapabilities),
		DeniedIdentities:      a.DeniedIdentities.Union(b.DeniedIdentities),
		MaximumIdentityScope:  leastStated(a.MaximumIdentityScope, b.MaximumIdentityScope),
		Egress:                strictestEgress(a.Egress, b.Egress),
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
		return p, []sandbox.Finding{{
			Code: sandbox.CodeContradiction, Path: at("image_user"), Found: x.String() + " and " + y.String(),
			Required: "one that an image can meet", Remedy: "let only one of the two policies state it",
		}}
	}
	return p, nil
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
	both := []string{}
	for _, registry := range a {
		if slices.Contains(b, registry) {
			both = append(both, registry)
		}
	}
	return both
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, text := range b {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// strictestEgress takes the narrower mode and, under two allowlists, the rules
// of each that lie within the other.
func strictestEgress(a, b sandbox.Egress) sandbox.Egress {
	demanded := a.Guarantees.Union(b.Guarantees)
	switch {
	case a.Mode == sandbox.EgressUnspecified || b.Mode == sandbox.EgressUnspecified:
		e := a
		if a.Mode == sandbox.EgressUnspecified {
			e = b
		}
		e.Guarantees = demanded
		return e
	case a.Mode != b.Mode:
		e := a
		if b.Mode < a.Mode {
			e = b
		}
		e.Guarantees = demanded
		return e
	case a.Mode != sandbox.EgressAllowlist:
		return sandbox.Egress{Mode: a.Mode, Guarantees: demanded}
	}
	rules := map[string]sandbox.EgressRule{}
	keepWithin(rules, a, b)
	keepWithin(rules, b, a)
	if len(rules) == 0 {
		return sandbox.Egress{Mode: sandbox.EgressClosed, Guarantees: demanded}
	}
	return sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: rules, Guarantees: demanded}
}

// keepWithin adds the rules of e that lie within bound, each under a key that
// says what it is.
func keepWithin(kept map[string]sandbox.EgressRule, e, bound sandbox.Egress) {
	limit := egress.NewSet(egressRules(bound))
	for _, rule := range egressRules(e) {
		if _, within := egress.NewSet([]egress.Rule{rule}).Within(limit); within {
			kept[rule.String()] = rule.Normal()
		}
	}
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
