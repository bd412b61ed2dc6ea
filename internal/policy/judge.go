package policy

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Judge decides workloads under policies that hold for all of them. The policies
// are compiled once, and each workload once for any number of questions.
type Judge struct {
	layers   []Layer
	policy   *CompiledPolicy
	findings []sandbox.Finding
}

// NewJudge compiles the policies in force.
func NewJudge(layers ...Layer) *Judge {
	compiled, findings := CompilePolicy(layers...)
	return &Judge{layers: layers, policy: compiled, findings: findings}
}

// Policy is what was compiled.
func (j *Judge) Policy() *CompiledPolicy { return j.policy }

// Case is one workload before a judge.
type Case struct {
	judge    *Judge
	spec     *CompiledSpec
	findings []sandbox.Finding
}

// Case compiles a workload. What was found when it was read is given along, and
// denies it as what is found here does.
func (j *Judge) Case(ask Ask, read ...sandbox.Finding) Case {
	spec, findings := CompileSpec(ask.Spec, ask.Known)
	return Case{judge: j, spec: spec, findings: slices.Concat(read, j.findings, findings)}
}

// Spec is the workload as it was compiled.
func (c Case) Spec() *CompiledSpec { return c.spec }

// Admits answers whether the request is let through by the policies and by the
// workload's own egress.
func (c Case) Admits(r egress.Request) sandbox.Verdict {
	return min(c.judge.policy.Admits(r), c.spec.Admits(r))
}

// Findings are what is wrong with the policies or the workload, wherever it runs.
func (c Case) Findings() []sandbox.Finding { return c.findings }

// Decide answers for the workload on a backend. Nothing is decided under policies
// that are none, of a workload that is none, or on a backend that is none: what is
// wrong with them is the answer then, in that order.
func (c Case) Decide(on Backend) sandbox.Decision {
	if d := sandbox.Decide(c.findings); d.Verdict != sandbox.Allow {
		return d
	}
	backend, findings := on()
	if d := sandbox.Decide(findings); d.Verdict != sandbox.Allow {
		return d
	}
	return Decide(c.judge.policy, backend, c.spec)
}

// Backend gives a backend's declarations, and what stands against relying on them.
// It is asked once something depends on it.
type Backend func() (*CompiledDeclarations, []sandbox.Finding)

// Backends are all the backends that workloads can ask for.
type Backends struct {
	byName map[string]declared
	names  []string
}

type declared struct {
	compiled *CompiledDeclarations
	findings []sandbox.Finding
}

// CompileBackends compiles declarations. A backend that no longer gives what is
// relied on under the judge's policies is denied; see [ReliedOn].
func (j *Judge) CompileBackends(declarations []sandbox.Declarations, relied map[string]sandbox.GuaranteeSet) Backends {
	b := Backends{byName: make(map[string]declared, len(declarations))}
	for _, d := range declarations {
		compiled, findings := CompileDeclarations(d)
		b.byName[d.Backend] = declared{
			compiled: compiled.Beside(func() []sandbox.Declarations { return declarations }),
			findings: append(findings, ReliedOn(j.layers, relied, d)...),
		}
		b.names = append(b.names, d.Backend)
	}
	return b
}

// Of is the backend of that name. One that is not there is denied.
func (b Backends) Of(name string) Backend {
	return func() (*CompiledDeclarations, []sandbox.Finding) {
		if d, ok := b.byName[name]; ok {
			return d.compiled, d.findings
		}
		return nil, []sandbox.Finding{{
			Code: sandbox.CodeNoBackend, Path: at("backend"), Found: sandbox.Echo(name),
			Required: "one of " + strings.Join(b.names, ", "), Remedy: "give the facts of that backend",
		}}
	}
}
