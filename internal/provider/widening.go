package provider

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// guard is what an object says about its own widening. It stands beside a policy
// or a manifest and is no part of its document.
type guard struct {
	// rule is unspecified where none is stated or it is not known yet.
	rule sandbox.OnWidening
	// accept is the change that was accepted, empty without one.
	accept string
	// known and findings are about these two attributes alone: the decision and
	// the digest wait for neither.
	known    sandbox.Known
	findings []sandbox.Finding
}

func readGuard(o *object) guard {
	own := &reading{}
	o = &object{reading: own, path: o.path, attrs: o.attrs, asked: o.asked}
	g := guard{rule: readWord[sandbox.OnWidening](o, "on_widening")}
	if _, at, stated := o.get("accept_widening"); stated {
		g.accept = o.text("accept_widening")
		if own.known.Has(at) {
			if _, err := manifest.ParseDigest(g.accept); err != nil {
				own.reject(at, sandbox.FindingsAt(err, at)...)
			}
		}
	}
	g.known, g.findings = own.known, own.findings
	return g
}

func (g guard) ruleKnown() bool { return g.known.Has(sandbox.Path("on_widening")) }

func (g guard) acceptKnown() bool { return g.known.Has(sandbox.Path("accept_widening")) }

// since compares the guard with an earlier one: a laxer one widens.
func (g guard) since(was guard) (changes []policy.AxisChange, undecided []sandbox.FieldPath) {
	at := sandbox.Path("on_widening")
	before, after := was.rule.OrDefault(), g.rule.OrDefault()
	switch {
	case !g.ruleKnown():
		return nil, []sandbox.FieldPath{at}
	case after == before:
		return nil, nil
	}
	change := policy.Narrowed
	if after < before {
		change = policy.Widened
	}
	return []policy.AxisChange{{
		Axis: "on_widening", Path: at, Change: change, Before: before.String(), After: after.String(),
	}}, nil
}

// widening is what a plan permits beyond the prior state.
type widening struct {
	// subjects are the compared parts: the policy itself, or those of a manifest.
	subjects []subject
	// baseline says that there is nothing to compare with, where a guard asked for
	// a comparison.
	baseline []sandbox.Finding
	// about is what the baseline's summary ends with.
	about string
}

// subject is one compared part.
type subject struct {
	// noun begins the summary, about ends it: Policy, policy "agents".
	noun, about string
	// at is where the part stands in the object, nil for the whole.
	at    sandbox.FieldPath
	moved policy.Comparison
	// rule is the stricter of what the prior state and the plan say.
	rule sandbox.OnWidening
	// acceptances are the changes that may have been accepted; the first is the one
	// that a refusal offers.
	acceptances []acceptance
}

// acceptance holds what accept_widening says against the change that it is about.
type acceptance struct {
	guard guard
	// change names the change, empty while parts of it are not known.
	change manifest.Digest
}

func (a acceptance) given() bool { return a.change != "" && a.guard.accept == string(a.change) }

// waits reports whether the change may still turn out to be the accepted one.
func (a acceptance) waits() bool {
	return !a.guard.acceptKnown() || (a.change == "" && a.guard.accept != "")
}

// verdict is Deny for a widening that is refused, Undecided for one whose
// acceptance is not known yet, and Allow for any other.
func (s subject) verdict() sandbox.Verdict {
	if s.rule != sandbox.OnWideningRefuse || len(s.moved.Widenings()) == 0 || s.accepted() {
		return sandbox.Allow
	}
	for _, a := range s.acceptances {
		if a.waits() {
			return sandbox.Undecided
		}
	}
	return sandbox.Deny
}

func (s subject) accepted() bool {
	for _, a := range s.acceptances {
		if a.given() {
			return true
		}
	}
	return false
}

// stricter is the rule that holds while an object changes: neither loosening the
// guard in the same change nor having had it loosened goes around it.
func stricter(guards ...guard) sandbox.OnWidening {
	rule := sandbox.OnWideningUnspecified
	for _, g := range guards {
		rule = max(rule, g.rule)
	}
	return rule
}

// comparePolicy compares a policy with its prior state.
func comparePolicy(prior, planned tftypes.Value, _ *platformPolicy) widening {
	next := readPolicy(planned, false)
	if prior.IsNull() {
		return newObject(manifest.PolicySource(next.Policy), next.guard)
	}
	was := readPolicy(prior, false)
	before, problem := was.encodeKnown()
	if problem == nil {
		// What does not compile would be compared as if it were not there.
		findings := policy.LayerFindings(was.layer())
		problem = sandbox.Decide(findings).Err()
	}
	if problem != nil {
		return unreadableState(manifest.PolicySource(next.Policy), problem, was.guard, next.guard)
	}
	s := policySubject(was, next, before)
	s.rule = max(was.guard.rule.OrDefault(), next.guard.rule.OrDefault())
	s.acceptances = []acceptance{{next.guard, policyChange(was, next, before)}}
	return widening{subjects: []subject{s}}
}

// policySubject compares two policies; before is the document of the earlier one.
func policySubject(was, next policyInput, before []byte) subject {
	moved := policy.ComparePolicy(was.Policy, next.Policy, next.Known)
	changes, undecided := next.guard.since(was.guard)
	moved.Changes = append(moved.Changes, changes...)
	moved.Undecided = append(moved.Undecided, undecided...)
	about := manifest.PolicySource(next.Policy)
	if next.Policy.Name == "" {
		// Terraform folds warnings of equal summary, and policies without a name
		// would all have one.
		about = "policy " + short(manifest.DigestOf(before))
	}
	return subject{noun: "Policy", about: about, moved: moved}
}

// policyChange names the change of a policy, as far as it is known.
func policyChange(was, next policyInput, before []byte) manifest.Digest {
	after, problem := next.encodeKnown()
	if problem != nil || !next.guard.ruleKnown() {
		return ""
	}
	return manifest.WideningDigest(
		manifest.Guarded{Document: before, Rules: []sandbox.OnWidening{was.guard.rule}},
		manifest.Guarded{Document: after, Rules: []sandbox.OnWidening{next.guard.rule}},
	)
}

// encodeKnown is the policy's document, or why there is none.
func (in policyInput) encodeKnown() ([]byte, error) {
	if len(in.Findings) > 0 {
		return nil, in.Findings[0].Refusal(nil)
	}
	if paths := in.Known.Paths(); len(paths) > 0 {
		return nil, sandbox.Finding{Code: sandbox.CodeUndecided, Path: paths[0]}.Refusal(nil)
	}
	return in.encode()
}

// newObject is the comparison of an object that has no prior state. It is worth
// saying only where somebody asked for the guard.
func newObject(about string, guards ...guard) widening {
	if stricter(guards...) != sandbox.OnWideningRefuse {
		return widening{}
	}
	return widening{about: about, baseline: []sandbox.Finding{{
		Verdict: sandbox.Allow, Code: sandbox.CodePostureNoBaseline, Path: sandbox.Path("on_widening"),
		Found:    "a new object, with no earlier state",
		Required: "an earlier state for on_widening to compare with",
		Remedy:   "nothing, where it is really new; where it goes on under another name, add a moved block from the earlier address",
	}}}
}

// unreadableState is the comparison with a state that this release cannot read, which
// compares with nothing and is refused where the guard refuses.
func unreadableState(about string, problem error, guards ...guard) widening {
	f := sandbox.Finding{
		Verdict: sandbox.Allow, Code: sandbox.CodePostureNoBaseline,
		Found:    "an earlier state that cannot be read: " + problem.Error(),
		Required: "an earlier state to compare with",
		Remedy:   "apply with the release that wrote the state, or taint the object to begin again without a comparison",
	}
	if stricter(guards...) == sandbox.OnWideningRefuse {
		f.Verdict = sandbox.Deny
	}
	return widening{about: about, baseline: []sandbox.Finding{f}}
}

// short is the part of a digest by which messages tell objects without a name
// apart.
func short(d manifest.Digest) string { return string(d)[len("sha256:"):][:8] }
