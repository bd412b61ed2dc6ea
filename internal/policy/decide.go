package policy

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// check is one question of the decision. It appends what it has to say and
// says nothing when it is content.
type check struct {
	name string
	run  func(*question)
}

// Checks lists the questions in the order in which they are asked, which is
// also the order of findings. Every one is asked, whatever the others say.
var checks = [...]check{
	{"denied capabilities", (*question).deniedCapabilities},
	{"denied identities", (*question).deniedIdentities},
	{"attached identity", (*question).attachedIdentity},
	{"isolation floor", (*question).isolationFloor},
	{"isolation evidence", (*question).isolationEvidence},
	{"capabilities", (*question).capabilities},
	{"method tokens", (*question).methodTokens},
	{"OS family", (*question).osFamily},
	{"program channel", (*question).programChannel},
	{"transfer limits", (*question).transferLimits},
	{"egress mode", (*question).egressMode},
	{"egress within policy", (*question).egressWithinPolicy},
	{"egress guarantees", (*question).egressGuarantees},
	{"isolation scope", (*question).isolationScope},
	{"image", (*question).image},
}

// CheckNames lists the questions in order, for the docs.
func CheckNames() []string {
	names := make([]string, len(checks))
	for i := range checks {
		names[i] = checks[i].name
	}
	return names
}

// question is one decision being made. It lives on the stack: an allow without
// warnings allocates nothing.
type question struct {
	policy   *CompiledPolicy
	backend  *CompiledDeclarations
	spec     *CompiledSpec
	findings []sandbox.Finding
}

// Decide judges one workload on one backend under the policies in force. A nil
// argument refuses. Paths lie inside the workload, in the attribute to edit.
func Decide(p *CompiledPolicy, b *CompiledDeclarations, s *CompiledSpec) sandbox.Decision {
	if p == nil || b == nil || s == nil {
		return sandbox.Decision{}
	}
	q := question{policy: p, backend: b, spec: s}
	for i := range checks {
		checks[i].run(&q)
	}
	return sandbox.Decide(q.findings)
}

func (q *question) say(f sandbox.Finding) { q.findings = append(q.findings, f) }

func (q *question) deny(code sandbox.Code, path sandbox.FieldPath, found, required, remedy string) {
	q.say(sandbox.Finding{Code: code, Path: path, Found: found, Required: required, Remedy: remedy})
}

func (q *question) warn(code sandbox.Code, path sandbox.FieldPath, found, required, remedy string) {
	q.say(sandbox.Finding{
		Verdict: sandbox.Allow, Code: code, Path: path, Found: found, Required: required, Remedy: remedy,
	})
}

// wait says that the answer turns on a value that is not known yet. The path is
// the workload's attribute that is judged; what is unknown is named in Found.
func (q *question) wait(path sandbox.FieldPath, unknown, decides string) {
	q.say(sandbox.Finding{
		Verdict: sandbox.Undecided, Code: sandbox.CodeUndecided, Path: path,
		Found: unknown + " is not known yet", Required: "a known value, which decides " + decides,
		Remedy: "nothing to do before apply; it is decided then",
	})
}

func (q *question) backendName() string { return q.backend.name() }
