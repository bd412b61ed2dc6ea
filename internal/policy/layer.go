package policy

import (
	"maps"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Layer is one policy in force and who put it there.
type Layer struct {
	// Source names it in messages: policy "agents", platform policy.
	Source string
	Policy sandbox.Policy
	Known  sandbox.Known
}

// CompiledPolicy is every policy in force for a workload, folded to the
// strictest of each field. It is immutable.
type CompiledPolicy struct {
	layers []compiledLayer

	floor          sandbox.Isolation // strongest known floor, unspecified when nobody states one
	floorOpen      bool              // some layer's floor is not known
	evidence       sandbox.EvidenceKind
	evidenceOpen   bool
	scope          sandbox.IsolationScope
	scopeOpen      bool
	identityScope  sandbox.IdentityScope
	identityOpen   bool
	denied         sandbox.CapabilitySet
	deniedOpen     bool
	deniedIDs      sandbox.IdentitySet
	deniedIDsOpen  bool
	guarantees     sandbox.GuaranteeSet
	guaranteesOpen bool
	missing        sandbox.MissingGuarantees
	missingOpen    bool
	match          sandbox.EgressMatch
	matchOpen      bool
	bounded        bool // some layer states an egress mode
	modeOpen       bool // some layer's egress mode is not known
}

type compiledLayer struct {
	Layer
	egress       compiledEgress
	neverReach   *egress.Set
	neverOpen    bool
	filesInOpen  bool
	filesOutOpen bool
	imagesOpen   imagesOpen
}

type imagesOpen struct{ registries, digest, prebuilt, user bool }

// CompilePolicy parses and folds the policies in force. Every finding is about
// the policies alone: malformed values and contradictions. Its Subject is the
// layer's Source, its path lies inside that policy. The compiled policy is only
// meant for [Decide] when no finding denies.
func CompilePolicy(layers ...Layer) (*CompiledPolicy, []sandbox.Finding) {
	p := &CompiledPolicy{}
	var findings []sandbox.Finding
	for _, l := range layers {
		compiled, problems := compileLayer(l)
		for _, f := range problems {
			f.Subject = l.Source
			findings = append(findings, f)
		}
		p.add(compiled)
	}
	return p, findings
}

// LayerFindings is what [CompilePolicy] finds, for whoever decides nothing.
func LayerFindings(l Layer) []sandbox.Finding {
	_, findings := readLayer(l)
	for i := range findings {
		findings[i].Subject = l.Source
	}
	return findings
}

// compileLayer reads the layer and compiles its rules.
func compileLayer(l Layer) (compiledLayer, []sandbox.Finding) {
	c, findings := readLayer(l)
	if c.egress.set == nil {
		c.egress.set = egress.NewSet(c.egress.rules)
	}
	return c, findings
}

// readLayer is all of [compileLayer] but the set of rules, unless never_reaches
// needs it.
func readLayer(l Layer) (compiledLayer, []sandbox.Finding) {
	c := compiledLayer{Layer: l}
	var findings []sandbox.Finding
	pol, known := &c.Policy, l.Known

	if known.Has(at("minimum_evidence")) && pol.MinimumEvidence == sandbox.EvidenceEmulated {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeUnknownWord, Path: at("minimum_evidence"), Found: `"emulated"`,
			Required: "probed or documented",
			Remedy:   `write minimum_evidence = "documented", or leave it out for "probed"`,
		})
	}
	eg, problems := readEgress(pol.Egress, known)
	findings = append(findings, problems...)

	never, problems := compileNeverReaches(pol.NeverReaches, known)
	c.neverReach, c.neverOpen = never, !known.Whole(at("never_reaches"))
	findings = append(findings, problems...)
	if never.Len() > 0 {
		eg.set = egress.NewSet(eg.rules)
		findings = append(findings, neverReachesFindings(&eg, never)...)
	}
	c.egress = eg

	for _, side := range []struct {
		field  string
		limits *sandbox.TransferLimits
	}{{"files_in_limits", pol.FilesIn}, {"files_out_limits", pol.FilesOut}} {
		if known.Whole(at(side.field)) {
			findings = append(findings, limitRangeFindings(side.limits, at(side.field))...)
		}
	}
	c.filesInOpen = !known.Whole(at("files_in_limits"))
	c.filesOutOpen = !known.Whole(at("files_out_limits"))

	findings = append(findings, registryFindings(pol.Images.Registries, known)...)
	c.imagesOpen = imagesOpen{
		registries: !known.Whole(at("image_registries")),
		digest:     !known.Has(at("image_require_digest")),
		prebuilt:   !known.Has(at("image_prebuilt")),
		user:       !known.Has(at("image_user")),
	}
	return c, findings
}

// add folds one layer in. An unspecified field is no opinion.
func (p *CompiledPolicy) add(l compiledLayer) {
	pol, known := &l.Policy, l.Known
	p.layers = append(p.layers, l)

	if known.Has(at("minimum_isolation")) {
		p.floor = max(p.floor, pol.MinimumIsolation)
	} else {
		p.floorOpen = true
	}
	if known.Has(at("minimum_evidence")) {
		p.evidence = max(p.evidence, pol.MinimumEvidence)
	} else {
		p.evidenceOpen = true
	}
	if known.Has(at("minimum_isolation_scope")) {
		p.scope = max(p.scope, pol.MinimumIsolationScope)
	} else {
		p.scopeOpen = true
	}
	if known.Has(at("maximum_identity_scope")) {
		if stated := pol.MaximumIdentityScope; stated != sandbox.IdentityScopeUnspecified &&
			(p.identityScope == sandbox.IdentityScopeUnspecified || stated < p.identityScope) {
			p.identityScope = stated
		}
	} else {
		p.identityOpen = true
	}

	p.denied = p.denied.Union(pol.DeniedCapabilities)
	p.deniedOpen = p.deniedOpen || !known.Whole(at("denied_capabilities"))
	p.deniedIDs = p.deniedIDs.Union(pol.DeniedIdentities)
	p.deniedIDsOpen = p.deniedIDsOpen || !known.Whole(at("denied_identities"))
	p.guarantees = p.guarantees.Union(pol.Egress.Guarantees)
	p.guaranteesOpen = p.guaranteesOpen || !known.Whole(at("egress_guarantees"))

	if known.Has(at("missing_guarantees")) {
		p.missing = max(p.missing, pol.MissingGuarantees)
	} else {
		p.missingOpen = true
	}
	if known.Has(at("egress_match")) {
		p.match = strictestMatch(p.match, pol.EgressMatch)
	} else {
		p.matchOpen = true
	}
	p.modeOpen = p.modeOpen || !known.Has(at("egress_mode"))
	p.bounded = p.bounded || (known.Has(at("egress_mode")) && pol.Egress.Mode != sandbox.EgressUnspecified)
}

// strictestMatch folds two opinions about egress matching: exact outranks at_least,
// and an unspecified one is no opinion.
func strictestMatch(a, b sandbox.EgressMatch) sandbox.EgressMatch {
	if a == sandbox.EgressMatchExact || b == sandbox.EgressMatchExact {
		return sandbox.EgressMatchExact
	}
	return max(a, b)
}

// Sources names the layers, in order.
func (p *CompiledPolicy) Sources() []string {
	names := make([]string, len(p.layers))
	for i := range p.layers {
		names[i] = p.layers[i].Source
	}
	return names
}

// at is the path of a root attribute. The steps are compile-time names, so the
// result is cheap and is only built off the allow path or during compilation.
func at(name string) sandbox.FieldPath { return sandbox.FieldPath{sandbox.Attr(name)} }

// limitRangeFindings refuses limits that no document can carry.
func limitRangeFindings(l *sandbox.TransferLimits, path sandbox.FieldPath) []sandbox.Finding {
	if l == nil {
		return nil
	}
	var findings []sandbox.Finding
	for _, leg := range []struct {
		name  string
		value int64
	}{
		{"max_bytes_per_file", l.MaxBytesPerFile},
		{"max_total_bytes", l.MaxTotalBytes},
		{"max_files", l.MaxFiles},
	} {
		if leg.value >= 0 && leg.value <= sandbox.MaxDocumentInteger {
			continue
		}
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeOutOfRange, Path: path.Append(sandbox.Attr(leg.name)),
			Found: itoa(leg.value), Required: "0 to " + itoa(sandbox.MaxDocumentInteger),
			Remedy: "write a whole number in that range",
		})
	}
	return findings
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
