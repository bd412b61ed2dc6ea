package cli

import (
	"reflect"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/planjson"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// candidate is something that was judged, as far as it can be compared: a manifest,
// or a policy alone.
type candidate struct {
	// label names it in tables, and address is its block, empty in a document.
	label, address string
	// digest is its document's, empty while that is not known.
	digest manifest.Digest

	policy    planjson.Policy
	host      *sandbox.Policy
	workloads map[string]planjson.Workload
	// manifest: it is one, and all says whether its workloads are all known.
	manifest, all bool
}

// postureOf is a manifest's document.
func candidateOf(m manifest.Manifest, document []byte, label, address string) candidate {
	p := candidate{
		label: label, address: address, digest: manifest.DigestOf(document), policy: planjson.Policy{Policy: m.Policy}, host: m.HostPolicy,
		workloads: map[string]planjson.Workload{}, manifest: true, all: true,
	}
	for name, spec := range m.Workloads {
		p.workloads[name] = planjson.Workload{Spec: spec}
	}
	return p
}

// alone takes up the policy of a workload that no manifest holds, once.
func (r *report) alone(p *planjson.Policy) {
	if p == nil || slices.ContainsFunc(r.candidates, func(have candidate) bool { return reflect.DeepEqual(have.policy, *p) }) {
		return
	}
	own := candidate{label: p.Policy.Name, policy: *p}
	if b, err := manifest.EncodePolicy(p.Policy); err == nil && p.Known.Everything() {
		own.digest = manifest.DigestOf(b)
	}
	r.candidates = append(r.candidates, own)
}

// baseline is what a check compares with: a digest, a manifest or a policy.
type baseline struct {
	source   string
	digest   manifest.Digest
	manifest *manifest.Manifest
	policy   *sandbox.Policy
}

// readBaseline reads --baseline: a digest, or a file with a document.
func (a *app) readBaseline(text string) (*baseline, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no baseline is asked for
	}
	if strings.HasPrefix(text, "sha256:") {
		digest, err := manifest.ParseDigest(text)
		return &baseline{source: text, digest: digest}, err
	}
	b, err := a.readFile(text, manifest.MaxDocument)
	if err != nil {
		return nil, err
	}
	base := &baseline{source: text, digest: manifest.DigestOf(b)}
	var findings []sandbox.Finding
	if manifest.Sort(b) == "policy" {
		p, err := manifest.ParsePolicy(b)
		if err != nil {
			return nil, &exit{ExitBadInput, err}
		}
		base.policy = &p
		_, findings = policy.CompilePolicy(policy.Layer{Policy: p})
	} else {
		m, err := manifest.Parse(b)
		if err != nil {
			return nil, &exit{ExitBadInput, err}
		}
		base.manifest = &m
		findings = compiles(m)
	}
	if len(findings) > 0 {
		// It would be compared as if what does not compile were not there.
		return nil, badInput("--baseline %s: %w", sandbox.Echo(text), sandbox.Decide(findings).Err())
	}
	return base, nil
}

func compiles(m manifest.Manifest) []sandbox.Finding {
	_, findings := policy.CompilePolicy(m.Layers()...)
	for _, name := range m.WorkloadNames() {
		_, problems := policy.CompileSpec(m.Workloads[name], sandbox.Known{})
		findings = append(findings, problems...)
	}
	return findings
}

// against compares what was judged with a baseline. What became possible is a
// finding each, and what cannot be told is a problem.
func (r *report) against(base *baseline) {
	if base == nil {
		return
	}
	r.Baseline = base.source
	candidates := slices.DeleteFunc(slices.Clone(r.candidates), func(p candidate) bool { return base.manifest != nil && !p.manifest })
	switch {
	case len(candidates) == 0:
		r.Problems = append(r.Problems, "there is nothing to compare with --baseline "+sandbox.Echo(base.source)+": "+
			"nothing of its kind was judged")
		return
	case base.manifest != nil && len(candidates) > 1:
		r.Problems = append(r.Problems, "the plan has several manifests and the baseline is one; check one manifest at a time")
		return
	}
	for _, p := range candidates {
		switch {
		case p.digest != "" && p.digest == base.digest:
		case base.manifest != nil:
			r.moved(p, base.manifest)
		case base.policy != nil:
			r.widened(p, "policy", p.label, policy.ComparePolicy(*base.policy, p.policy.Policy, p.policy.Known))
		case p.digest == "":
			r.Problems = append(r.Problems, "the digest to compare with the baseline is not known yet. Apply, and check the manifest.")
		default:
			r.Findings = append(r.Findings, item{
				Name: p.label, Subject: p.address, Widened: true, Verdict: sandbox.Allow,
				Code: sandbox.CodePostureNoBaseline, Summary: sandbox.CodePostureNoBaseline.Summary(),
				Found: string(p.digest) + ", of which a digest cannot tell whether it permits more", Required: string(base.digest),
				Remedy: "give the baseline as a file to see what changed, or renew the baseline after reading the change",
			})
		}
	}
}

// moved compares a manifest with an earlier one, part by part.
func (r *report) moved(p candidate, before *manifest.Manifest) {
	r.widened(p, manifest.PolicySource(p.policy.Policy), p.policy.Policy.Name, policy.ComparePolicy(before.Policy, p.policy.Policy, p.policy.Known))
	r.widened(p, manifest.PlatformPolicy, "platform", compareHosts(before, p))
	for _, name := range sortedKeys(p.workloads) {
		next := p.workloads[name]
		subject := "workload " + sandbox.Echo(name)
		if earlier, ok := before.Workloads[name]; ok {
			r.widened(p, subject, name, policy.CompareSpec(earlier, next.Spec, next.Known))
			continue
		}
		r.widened(p, subject, name, compareNew(before, next))
	}
	if !p.all {
		r.Problems = append(r.Problems, "the workloads of "+p.address+" are not all known yet, and cannot be compared. Apply, and check the manifest.")
	}
}

// compareHosts compares what runners imposed. One that comes answers where the
// team's policy is silent, and tightens everywhere else.
func compareHosts(before *manifest.Manifest, p candidate) policy.Comparison {
	switch {
	case before.HostPolicy != nil && p.host != nil:
		return policy.ComparePolicy(*before.HostPolicy, *p.host, sandbox.Known{})
	case before.HostPolicy != nil:
		return policy.ComparePolicy(*before.HostPolicy, sandbox.Policy{}, sandbox.Known{})
	case p.host != nil:
		spoken := map[string]bool{}
		for _, c := range policy.ComparePolicies(sandbox.Policy{}, before.Policy) {
			spoken[c.Axis] = true
		}
		c := policy.ComparePolicy(sandbox.Policy{}, *p.host, sandbox.Known{})
		c.Changes = slices.DeleteFunc(c.Changes, func(c policy.AxisChange) bool { return spoken[c.Axis] })
		return c
	default:
		return policy.Comparison{}
	}
}

// compareNew compares a workload that was not there with those that were: one that
// may do nothing that another of its kind and backend could not is no widening.
func compareNew(before *manifest.Manifest, next planjson.Workload) policy.Comparison {
	for _, name := range before.WorkloadNames() {
		earlier := before.Workloads[name]
		if earlier.Kind != next.Spec.Kind || earlier.Backend != next.Spec.Backend {
			continue
		}
		if c := policy.CompareSpec(earlier, next.Spec, next.Known); len(c.Widenings()) == 0 {
			return policy.Comparison{Undecided: c.Undecided}
		}
	}
	nothing := sandbox.Spec{Requires: &sandbox.CapabilitySet{}}
	c := policy.CompareSpec(nothing, next.Spec, next.Known)
	c.Changes = append([]policy.AxisChange{{
		Axis: "workloads", Change: policy.Widened, Before: "no workload of that name", After: "a new one",
	}}, c.Widenings()...)
	return c
}

// widened adds one finding for each axis on which a part permits more.
func (r *report) widened(p candidate, subject, name string, c policy.Comparison) {
	for _, change := range c.Widenings() {
		i := item{
			Name: name, Subject: subject, Address: p.address, Widened: true, Verdict: sandbox.Allow,
			Code: sandbox.CodePostureWidened, Summary: sandbox.CodePostureWidened.Summary(), Path: change.Path.String(),
			Found: change.Axis + ": " + change.After, Required: "no more than " + change.Before,
			Remedy: "take the change back, or renew the baseline after reading it",
		}
		if strings.HasPrefix(change.Axis, "egress") {
			i.Witness = change.Witness
		} else if change.Witness != "" {
			i.Found = change.Axis + ": " + change.Witness
		}
		r.Findings = append(r.Findings, i)
	}
	if len(c.Undecided) > 0 {
		r.Problems = append(r.Problems, "whether "+subject+" permits more than before is not known yet: "+
			c.Undecided[0].String()+" is open. Apply, and check the manifest.")
	}
}
