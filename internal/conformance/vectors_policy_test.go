package conformance_test

import (
	"encoding/json"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

type policyIn struct {
	Router  routerIn
	Backend backendIn
	Spec    specIn
}

type policyOut struct {
	refusal
	Stage          string
	Allow          bool
	Warned         bool
	WarnedMentions []string `json:"warned_mentions"`
}

// policyRequired: the newest release's answers, and the first era's about
// egress, which egress_match = "at_least" keeps.
func policyRequired(v *vector) bool {
	if v.Oracle == newest {
		return true
	}
	var out policyOut
	return firstEra(v.Oracle) && json.Unmarshal(v.Out, &out) == nil &&
		(out.Error == "" || out.Error == "SandboxEgressNotEnforced")
}

func judgePolicy(v *vector) (answer, error) {
	var in policyIn
	var out policyOut
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	ours := in.judge(v.Oracle)
	if out.Error != "" {
		return answer{ours: ours.render(out.Mentions), theirs: out.Stage + " " + out.Error}, nil
	}
	theirs := "allow"
	if out.Warned {
		theirs = "allow, warned"
	}
	return answer{ours: ours.render(out.WarnedMentions), theirs: theirs}, nil
}

// judge decides in the reference's three stages: the spec alone, the router with
// its one backend, then the two together. Ours has no stages; a backend that
// would be refused for every workload is one that is refused for [neutral].
func (in *policyIn) judge(oracle string) outcome {
	spec, findings := in.Spec.spec(oracle)
	compiledSpec, problems := policy.CompileSpec(spec, sandbox.Known{})
	if f := firstDenial(append(findings, problems...)); f != nil {
		return outcome{stage: "spec", finding: f}
	}
	p, findings := in.Router.policy(oracle)
	compiledPolicy, problems := compilePolicy(p)
	if f := firstDenial(append(findings, problems...)); f != nil {
		return outcome{stage: "construct", finding: f}
	}
	declarations, err := in.Backend.declarations()
	if err != nil {
		f := sandbox.FindingsAt(err, sandbox.Path("isolation"))[0]
		return outcome{stage: "construct", finding: &f}
	}
	backend, findings := policy.CompileDeclarations(declarations)
	if f := firstDenial(findings); f != nil {
		return outcome{stage: "construct", finding: f}
	}
	if f := refusedForAll(compiledPolicy, backend); f != nil {
		return outcome{stage: "construct", finding: f}
	}
	return attach(compiledPolicy, backend, compiledSpec)
}

func attach(p *policy.CompiledPolicy, b *policy.CompiledDeclarations, s *policy.CompiledSpec) outcome {
	decision := policy.Decide(p, b, s)
	o := outcome{stage: "attach", finding: firstDenial(decision.Findings)}
	for i, f := range decision.Findings {
		if f.Verdict == sandbox.Allow && f.Code == sandbox.CodeEgressNotEnforced {
			o.warning = &decision.Findings[i]
		}
	}
	return o
}

// refusedForAll is why the backend serves nobody under the policy: what it
// attaches, or its rung.
func refusedForAll(p *policy.CompiledPolicy, b *policy.CompiledDeclarations) *sandbox.Finding {
	neutral := sandbox.Spec{Kind: probedKind, Requires: &sandbox.CapabilitySet{}}
	if b.Declarations().AttachedIdentity.Attached() {
		attached := sandbox.SetOf(sandbox.CapabilityAttachedIdentity)
		neutral.Requires = &attached
		neutral.MaximumIdentityScope = sandbox.IdentityScopeShared
		neutral.IdentityRetentionSeconds = sandbox.MaxDocumentInteger
	}
	s, _ := policy.CompileSpec(neutral, sandbox.Known{})
	for _, f := range policy.Decide(p, b, s).Findings {
		if f.Verdict == sandbox.Deny && (f.Code == sandbox.CodeAttachedIdentity || f.Code == sandbox.CodeIsolationBelowFloor) {
			return &f
		}
	}
	return nil
}
