package provider

import (
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// admission holds the policies in force, compiled once, and judges workloads
// under them.
type admission struct {
	compiled *policy.CompiledPolicy
	// findings are about the policy that was given; their paths count from it.
	findings []sandbox.Finding
	// settled says that nothing about the policies is unknown.
	settled bool
}

// admit compiles the policy that was given together with what the provider's
// configuration imposes.
func admit(in policyInput, imposed []policy.Layer, p phase) admission {
	a := admission{settled: in.Known.Everything()}
	for _, l := range imposed {
		a.settled = a.settled && l.Known.Everything()
	}
	given := in.layer()
	// The imposed policy comes first, as it does in a host.
	compiled, problems := policy.CompilePolicy(append(slices.Clip(imposed), given)...)
	a.compiled = compiled
	a.findings = append(a.findings, in.Findings...)
	for _, f := range problems {
		// An imposed policy was judged when it was read. The policy at hand needs
		// no subject: it is the object that the finding is shown at.
		if f.Subject == given.Source {
			f.Subject = ""
			a.findings = append(a.findings, f)
		}
	}
	if in.Known.Everything() && !denied(a.findings) {
		a.findings = append(a.findings, in.seal.broken("policy", in.encode, p)...)
	}
	return a
}

// faults is everything that is wrong with the policy alone, for whoever decides
// nothing under it.
func (in policyInput) faults(p phase) []sandbox.Finding {
	faults := slices.Clip(in.Findings)
	for _, f := range policy.LayerFindings(in.layer()) {
		f.Subject = "" // it is shown at the policy
		faults = append(faults, f)
	}
	if in.Known.Everything() && !denied(faults) {
		faults = append(faults, in.seal.broken("policy", in.encode, p)...)
	}
	return faults
}

// faults is everything that is wrong with the workload alone; problems is what was
// found when it was compiled.
func (in workloadInput) faults(problems []sandbox.Finding) []sandbox.Finding {
	faults := append(slices.Clip(in.Findings), problems...)
	if in.Known.Everything() && !denied(faults) {
		faults = append(faults, in.seal.broken("workload", in.encode, validating)...)
	}
	return faults
}

func (in policyInput) encode() ([]byte, error) { return manifest.EncodePolicy(in.Policy) }

func (in workloadInput) encode() ([]byte, error) { return manifest.EncodeWorkload(in.Spec) }

// judgement is what is said about one workload. Its paths count from the
// workload; findings about the policy are not among them.
type judgement struct {
	sandbox.Decision
	// settled says that nothing the decision or the workload's document depends on
	// is unknown, so that values made from it may be planned.
	settled bool
}

// judge decides one workload. Undecided findings are kept among the others: a
// plan passes over them, an apply does not.
func (a admission) judge(in workloadInput, p phase) judgement {
	spec, problems := policy.CompileSpec(in.Spec, in.Known)
	findings := append(append([]sandbox.Finding(nil), in.Findings...), problems...)

	backend, open, problems := backendOf(in)
	findings = append(findings, problems...)

	settled := a.settled && in.Known.Everything()
	if in.Known.Everything() && !denied(findings) {
		findings = append(findings, in.seal.broken("workload", in.encode, p)...)
	}
	if denied(a.findings) || denied(findings) {
		// Nothing is decided under a policy that is none, or about a workload that is
		// none; neither is admitted.
		return judgement{Decision: sandbox.Decision{Verdict: sandbox.Deny, Findings: findings}, settled: settled}
	}
	decision := policy.Decide(a.compiled, backend, spec)
	for _, f := range decision.Findings {
		// On an unknown backend only what holds on every backend is said.
		if !open || f.Verdict == sandbox.Deny {
			findings = append(findings, f)
		}
	}
	if open {
		findings = append(findings, sandbox.Finding{
			Verdict: sandbox.Undecided, Code: sandbox.CodeUndecided, Path: sandbox.Path("backend"),
			Found: "the backend is not known yet", Required: "a known backend",
			Remedy: "nothing to do before apply; it is decided then",
		})
	}
	return judgement{Decision: sandbox.Decide(findings), settled: settled}
}

// backendOf compiles what the workload's backend declares: the facts that were
// given, else the shipped ones. While the backend is not known it is open, and
// an ideal one stands in.
func backendOf(in workloadInput) (compiled *policy.CompiledDeclarations, open bool, findings []sandbox.Finding) {
	backendAt, factsAt := sandbox.Path("backend"), sandbox.Path("backend_facts")
	var declared sandbox.Declarations
	at := backendAt
	switch {
	case !in.Known.Has(backendAt) || !in.Known.Has(factsAt):
		open = true
		declared = facts.Ideal(in.Spec)
	case in.Facts != "" && in.Spec.Backend != "":
		at = factsAt
		if declared, findings = factsOf(in.Facts, in.Spec.Backend, factsAt); findings != nil {
			return nil, false, findings
		}
	default:
		var err error
		if declared, err = facts.Lookup(in.Spec.Backend); err != nil {
			return nil, false, sandbox.FindingsAt(err, backendAt)
		}
	}
	compiled, problems := policy.CompileDeclarations(declared)
	if open {
		return compiled, true, nil
	}
	return compiled.Beside(facts.All), false, under(at[:1], onlyRoot(problems))
}

// factsOf reads facts that were given as text, of the backend of that name. An
// empty name is any.
func factsOf(text, backend string, at sandbox.FieldPath) (sandbox.Declarations, []sandbox.Finding) {
	given, err := manifest.ParseDeclarations([]byte(text))
	if err != nil {
		return given, sandbox.FindingsAt(err, at)
	}
	if backend == "" || given.Backend == backend {
		return given, nil
	}
	return given, []sandbox.Finding{{
		Code: sandbox.CodeBackendNotPermitted, Path: at,
		Found:    "facts of backend " + sandbox.Echo(given.Backend),
		Required: "facts of backend " + sandbox.Echo(backend),
		Remedy:   "give the facts of the backend that is named",
	}}
}

// onlyRoot takes the paths of findings about declarations away: they lie in the
// backend's facts, which have no attributes here.
func onlyRoot(findings []sandbox.Finding) []sandbox.Finding {
	rooted := make([]sandbox.Finding, len(findings))
	for i, f := range findings {
		f.Path = nil
		rooted[i] = f
	}
	return rooted
}

func denied(findings []sandbox.Finding) bool {
	for i := range findings {
		if findings[i].Verdict == sandbox.Deny {
			return true
		}
	}
	return false
}
