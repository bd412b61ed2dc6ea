package router

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// WorkloadDecision is what attaching one workload would answer.
type WorkloadDecision struct {
	Workload string `json:"workload"`
	Backend  string `json:"backend"`
	sandbox.Decision
}

// Check answers, for every workload of a manifest in the order of their names,
// what [Router.Attach] would, given what the backends declare. It needs no
// router and touches nothing. A workload is denied when its backend is not among
// the declarations, or no longer gives what the plan relied on, for which [Open]
// would refuse the backend.
func Check(m manifest.Manifest, declarations []sandbox.Declarations) []WorkloadDecision {
	judge := policy.NewJudge(m.Layers()...)
	backends := judge.CompileBackends(declarations, m.Guarantees)
	decisions := make([]WorkloadDecision, 0, len(m.Workloads))
	for _, name := range m.WorkloadNames() {
		spec := m.Workloads[name]
		d := WorkloadDecision{Workload: name, Backend: spec.Backend}
		d.Decision = judge.Case(policy.Ask{Spec: spec}).Decide(backends.Of(spec.Backend))
		for i := range d.Findings {
			if d.Findings[i].Subject == "" {
				d.Findings[i].Subject = Subject(name)
			}
		}
		decisions = append(decisions, d)
	}
	return decisions
}
