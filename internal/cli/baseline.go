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

	policy planjson.Policy
	// posture is a manifest's, nil for a policy alone.
	posture *policy.Posture
}

// candidateOf is a manifest's document.
func candidateOf(m manifest.Manifest, document []byte, label, address string) candidate {
	posture := m.Posture()
	return candidate{
		label: label, address: address, digest: manifest.DigestOf(document),
		policy: planjson.Policy{Policy: m.Policy}, posture: &posture,
	}
}

// planned is a manifest whose document, and with it what is imposed on it, is not
// known yet.
func planned(m planjson.Manifest, label string) candidate {
	posture := policy.Posture{
		Policy: layerOf(&m.Policy), Workloads: make(map[string]policy.Ask, len(m.Workloads)),
		Known: sandbox.Known{}.Unknown(sandbox.Path("host_policy")).Unknown(sandbox.Path("guarantees")),
	}
	if !m.WorkloadsKnown {
		posture.Known = posture.Known.Unknown(sandbox.Path("workloads"))
	}
	for name, w := range m.Workloads {
		posture.Workloads[name] = policy.Ask{Spec: w.Spec, Known: w.Known}
	}
	return candidate{label: label, address: m.Address, policy: m.Policy, posture: &posture}
}

// alone takes up a workload that no manifest holds, and its policy, once.
func (r *report) alone(w planjson.Workload) {
	r.standalone = append(r.standalone, w.Address)
	p := w.Policy
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
	if err := noPlan(b); err != nil {
		return nil, badInput("--baseline %s: %w", sandbox.Echo(text), err)
	}
	base := &baseline{source: text, digest: manifest.DigestOf(b)}
	if manifest.Sort(b) == "policy" {
		p, err := manifest.ParsePolicy(b)
		if err != nil {
			return nil, inInput("--baseline "+text, &exit{ExitBadInput, err})
		}
		base.policy = &p
	} else {
		m, err := manifest.Parse(b)
		if err != nil {
			return nil, inInput("--baseline "+text, &exit{ExitBadInput, err})
		}
		base.manifest = &m
	}
	return base, nil
}

// against compares what was judged with a baseline. What became possible is a
// finding each, and what cannot be told is a problem.
func (r *report) against(base *baseline) {
	if base == nil {
		return
	}
	r.Baseline = base.source
	candidates := slices.DeleteFunc(slices.Clone(r.candidates), func(p candidate) bool { return base.manifest != nil && p.posture == nil })
	switch {
	case len(candidates) == 0 && r.refuses():
		r.Baseline, r.notCompared = "", true
		return
	case len(candidates) == 0:
		r.Problems = append(r.Problems, "there is nothing to compare with --baseline "+sandbox.Echo(base.source)+": "+
			"nothing of its kind was judged")
		return
	case base.manifest != nil && len(candidates) > 1:
		r.Problems = append(r.Problems, "the plan has several manifests and the baseline is one; check one manifest at a time")
		return
	}
	if base.policy == nil {
		r.uncompared()
	}
	for _, p := range candidates {
		switch {
		case p.digest != "" && p.digest == base.digest:
		case base.manifest != nil:
			r.moved(p, base.manifest)
		case base.policy != nil:
			r.widened(p, "policy", p.label, nil, policy.ComparePolicy(*base.policy, p.policy.Policy, p.policy.Known))
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

// refuses reports that something is refused: Terraform leaves that, and what needs it,
// out of the plan.
func (r *report) refuses() bool {
	return slices.ContainsFunc(r.Findings, func(i item) bool { return i.Verdict == sandbox.Deny })
}

// without says that a baseline was given, and why nothing was compared with it.
func (r *report) without() string {
	if !r.notCompared {
		return ""
	}
	return "; not compared with the baseline, since the plan was refused"
}

// uncompared says of what stands in no manifest that a manifest's baseline says
// nothing of it.
func (r *report) uncompared() {
	for _, address := range r.standalone {
		r.Findings = append(r.Findings, item{
			Name: label(address), Subject: address, Address: address, Verdict: sandbox.Allow,
			Code: sandbox.CodePostureNoBaseline, Summary: sandbox.CodePostureNoBaseline.Summary(),
			Found: "a workload of no manifest, which the baseline says nothing of", Required: "a part of the manifest",
			Remedy: "put it into the manifest, or check its policy against a policy as the baseline",
		})
	}
}

// moved compares a manifest with an earlier one, part by part.
func (r *report) moved(p candidate, before *manifest.Manifest) {
	for _, s := range policy.ComparePostures(before.Posture(), *p.posture) {
		name := "manifest"
		if len(s.At) > 0 {
			switch part, _ := s.At[0].Attr(); part {
			case "host_policy":
				name = "platform"
			case "policy":
				name = p.policy.Policy.Name
			default:
				if s.Presence == policy.Removed {
					continue // nothing becomes possible by it, whatever is still open
				}
				name, _ = s.At[1].MapKey()
			}
		}
		r.widened(p, s.Subject, name, s.At, s.Comparison)
	}
}

// widened adds one finding for each axis on which a part permits more. within is where
// the manifest has the part.
func (r *report) widened(p candidate, subject, name string, within sandbox.FieldPath, c policy.Comparison) {
	for _, change := range c.Widenings() {
		i := item{
			Name: name, Subject: subject, Address: p.address, within: within.String(), Widened: true, Verdict: sandbox.Allow,
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
		open := ""
		if path := c.Undecided[0].String(); path != "" {
			open = ": " + path + " is open"
		}
		r.Problems = append(r.Problems, "whether "+subject+" permits more than before is not known yet"+open+". Apply, and check the manifest.")
	}
}
