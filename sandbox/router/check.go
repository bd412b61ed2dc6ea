package router

import (
	"slices"
	"strings"

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
	compiled, problems := policy.CompilePolicy(m.Layers()...)
	backends := make(map[string]*policy.CompiledDeclarations, len(declarations))
	unsound := make(map[string][]sandbox.Finding)
	var names []string
	for _, d := range declarations {
		c, findings := policy.CompileDeclarations(d)
		backends[d.Backend] = c.Beside(func() []sandbox.Declarations { return declarations })
		unsound[d.Backend] = append(findings, reliedOn(m, d)...)
		names = append(names, d.Backend)
	}
	decisions := make([]WorkloadDecision, 0, len(m.Workloads))
	for _, name := range m.WorkloadNames() {
		spec := m.Workloads[name]
		d := WorkloadDecision{Workload: name, Backend: spec.Backend}
		s, findings := policy.CompileSpec(spec, sandbox.Known{})
		findings = slices.Concat(problems, findings)
		switch backend, ok := backends[spec.Backend]; {
		case refuse(findings) != nil:
			d.Decision = sandbox.Decide(findings)
		case !ok:
			d.Decision = sandbox.Decide([]sandbox.Finding{{
				Code: sandbox.CodeNoBackend, Path: sandbox.Path("backend"), Found: sandbox.Echo(spec.Backend),
				Required: "one of " + strings.Join(names, ", "), Remedy: "give the facts of that backend",
			}})
		case refuse(unsound[spec.Backend]) != nil:
			d.Decision = sandbox.Decide(unsound[spec.Backend])
		default:
			d.Decision = policy.Decide(compiled, backend, s)
		}
		for i := range d.Findings {
			if d.Findings[i].Subject == "" {
				d.Findings[i].Subject = Subject(name)
			}
		}
		decisions = append(decisions, d)
	}
	return decisions
}
